// The command line `npx outbox` loads this file.
import { outbox } from './src/outbox.js';

export default outbox;
