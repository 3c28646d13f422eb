import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '@internal/test-database/test-database';
import { expect, it } from 'vitest';

/**
 * More than this, and nobody can hold them in their head. Six of them do little while all is well: a worker is taken over
 * (membership), a destination is away (availability, breaker), a call or a statement is given up (store calls, run-work,
 * limited query).
 */
const MOST_FILES = 35;

it(`one message passes through at most ${MOST_FILES} source files, from its enqueue to its purge`, async () => {
  const database = await createTestDatabase();
  try {
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const program = fileURLToPath(new URL('walk-one-message.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', tsx, program], {
      env: {
        ...process.env,
        DATABASE_URL: database.url,
        TSX_TSCONFIG_PATH: fileURLToPath(new URL('../tsconfig.json', import.meta.url)),
      },
    });
    const files = JSON.parse(stdout) as string[];
    // Steps that every walk must show, or the count means nothing.
    expect(files).toEqual(
      expect.arrayContaining([
        'core/src/enqueue/enqueue-pipeline.ts',
        'core/src/worker/worker-run.ts',
        'core/src/dispatch/settle-batch.ts',
        'store-sql/src/postgres/insert.ts',
        'store-sql/src/postgres/claim.ts',
        'store-sql/src/postgres/settle.ts',
        'retention/src/outbox-retention-job.ts',
      ]),
    );
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(MOST_FILES);
  } finally {
    await database.drop();
  }
});
