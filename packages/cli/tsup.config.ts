import { packageBuild } from '../../tsup.base.js';

export default [
  // Both builds run at once: this one must not wipe away what the other has written.
  packageBuild({ clean: ['!bin.js'] }),
  packageBuild({
    entry: ['src/bin.ts'],
    format: ['esm'],
    dts: false,
    clean: false,
    // The binary runs the package as it is published, not a second copy of it.
    external: [/^\.\/index\.js$/],
  }),
];
