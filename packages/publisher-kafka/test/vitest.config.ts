import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const packages = fileURLToPath(new URL('../..', import.meta.url));

/** The tests of this package that need Node 22.22: `under-newer-node.test.ts` runs them. */
export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  resolve: {
    alias: [
      { find: /^@postcommit\/([^/]+)$/, replacement: `${packages}$1/src/index.ts` },
      { find: /^@postcommit\/core\/internal$/, replacement: `${packages}core/src/internal.ts` },
    ],
  },
  test: {
    include: ['test/**/*.node22.ts'],
    // Only for what hangs: calls into the mock cluster may sleep for a second each.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    retry: process.env.CI ? 1 : 0,
  },
});
