import { packageBuild } from '../../tooling/tsup.base.js';

export default packageBuild();
