import { type PostgresServer, startPostgres } from '@internal/test-database/postgres';
import { PgOutboxStore, pgExecutor } from '@postcommit/store-pg';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import pg from '../../internal/test-database/src/pg.js';
import { filesOf, mainOf, ORDERS, PROGRAMS } from './page-mains.js';
import { PageProgram } from './page-program.js';

/** One of its own: it is restarted under the programs. */
let server: PostgresServer;
let pool: pg.Pool;
let store: PgOutboxStore;
const patience = { timeout: 120_000 };

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

beforeEach(async () => {
  pool = new pg.Pool({ connectionString: server.url });
  await pool.query(
    `drop table if exists orders, outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused; ${ORDERS}`,
  );
  await new SqlOutboxSchema(pgExecutor(pool)).ensure();
  store = new PgOutboxStore(pool);
  // Without a listener, the connections that a restart cuts would be warnings of the process.
  store.onProblem(() => {});
});
afterEach(() => pool.end());

const enqueue = (id: string): Promise<string[]> => store.enqueue({ topic: 'order.late', payload: { id } });

describe('the program of the page continues after a restart of the database', () => {
  it.each([
    ...PROGRAMS.map((program) => [...program, 'fast'] as const),
    ['docs/start/pg.md', 'src/main.ts', 'immediate'] as const,
  ])('%s, %s, %s', patience, async (page, file, mode) => {
    const program = await PageProgram.run(filesOf(mainOf(page, file)), server.url);
    await enqueue('before');
    await program.says(/order\.late.*before/);
    // Its own last transaction: one that is cut fails, and the page does not catch that.
    if (page.startsWith('docs/start/')) await program.says(/^rolled back: card declined$/);
    await server.restart(mode);
    await enqueue('after');
    await program.says(/order\.late.*after/);
    expect(await program.signal('SIGTERM'), program.complaints.join('\n')).toBe(0);
  });
});

/** The publisher of the page, but slow. It writes a line when it begins. */
function withSlowPublisher(main: string): string {
  const slow = main.replace(
    'async (row) => console.log(',
    "async (row) => (console.log('publishing'), await new Promise((resolve) => setTimeout(resolve, 700)), console.log)(",
  );
  expect(slow).not.toBe(main);
  return slow;
}

describe('a signal during a slow publish', () => {
  it.each([
    ...PROGRAMS.map((program) => [...program, 'SIGTERM'] as const),
    ['docs/start/pg.md', 'src/main.ts', 'SIGINT'] as const,
  ])('%s, %s: %s lets it end, and leaves no claim behind', patience, async (page, file, signal) => {
    const program = await PageProgram.run(filesOf(withSlowPublisher(mainOf(page, file))), server.url);
    // More than one: those that wait behind the first are released.
    await store.enqueue(['a', 'b', 'c'].map((id) => ({ topic: 'order.late', payload: { id } })));
    await program.says(/^publishing$/);
    expect(await program.signal(signal), program.complaints.join('\n')).toBe(0);
    const published = program.lines.filter((line) => line.startsWith('published'));
    expect(published.length).toBeGreaterThanOrEqual(1);
    const { rows } = await pool.query(
      'select count(*)::int as claims from outbox where claim_token is not null and dispatched_at is null',
    );
    expect(rows).toEqual([{ claims: 0 }]);
    const { dispatched } = await store.count();
    expect(dispatched).toBe(published.length);
  });
});
