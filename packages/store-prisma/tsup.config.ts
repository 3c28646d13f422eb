import { packageBuild } from '../../tsup.base.js';

// For `import.meta.url` in CommonJS.
export default packageBuild({ shims: true });
