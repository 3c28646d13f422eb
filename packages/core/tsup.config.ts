import { packageBuild, twoEntries } from '../../tsup.base.js';

export default packageBuild(twoEntries());
