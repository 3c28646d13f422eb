import { OutboxModule } from '@postcommit/core';
import { CommandError, ExitCode } from './command-error.js';
import type { OutboxCliConfig } from './outbox-cli-config.js';

const CONNECT_TIMEOUT_MS = 10_000;

/** The outbox on a PostgreSQL database of which only the address is known: everything but dispatching. */
export async function databaseUrlConfig(connectionString: string): Promise<OutboxCliConfig> {
  const { OutboxPgModule, pg } = await importDriver();
  const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // An idle connection that breaks tells the pool; unheard, that would end the process.
  pool.on('error', () => {});
  return {
    modules: [OutboxModule.forRoot({ worker: false }), OutboxPgModule.forRoot({ pool })],
    close: () => pool.end(),
  };
}

async function importDriver() {
  try {
    const [{ OutboxPgModule }, { default: pg }] = await Promise.all([
      import('@postcommit/store-pg'),
      import('pg'),
    ]);
    return { OutboxPgModule, pg };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new CommandError(
      'DATABASE_URL needs the PostgreSQL store: npm install @postcommit/store-pg pg',
      ExitCode.usage,
    );
  }
}
