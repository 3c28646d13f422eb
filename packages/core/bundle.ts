// What both entries share: the build puts all code here. See `twoEntries` in tsup.base.ts.
export * from './src/index.js';
export * from './src/internal.js';
