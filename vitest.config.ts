import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const packages = fileURLToPath(new URL('./packages', import.meta.url));

export default defineConfig({
  resolve: {
    // Tests run on the source of every package: no build stands between an edit and its test.
    alias: [
      { find: /^@postcommit\/([^/]+)$/, replacement: `${packages}/$1/src/index.ts` },
      { find: /^@postcommit\/core\/internal$/, replacement: `${packages}/core/src/internal.ts` },
    ],
  },
  test: {
    include: ['{packages/*,bench,chaos,internal/*,test}/**/*.test.ts'],
    globalSetup: [
      'internal/test-database/src/vitest-global-setup.ts',
      'packages/store-prisma/test/generate-client.mjs',
    ],
    exclude: ['**/node_modules/**', '**/dist/**'],
    // By default one worker on two cores, though most tests wait for a server or a process.
    maxWorkers: availableParallelism() + 1,
    // Only for what hangs: a busy machine must not fail a test that compiles or starts processes.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Many tests kill processes, servers and connections, and some bound what follows in seconds: on a starved CI machine
    // one of thousands may be late. At a desk it fails.
    retry: process.env.CI ? 1 : 0,
  },
});
