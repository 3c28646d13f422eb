import { OutboxModule } from '@postcommit/core';
import { CommandError, ExitCode } from './command-error.js';
import type { OutboxCliConfig } from './outbox-cli-config.js';

const CONNECT_TIMEOUT_MS = 10_000;
const SCHEMES = ['postgres', 'postgresql', 'pg', 'socket'];

/** Returns a configuration for the outbox in this PostgreSQL database. It has no publisher, so it can't dispatch. */
export async function databaseUrlConfig(connectionString: string): Promise<OutboxCliConfig> {
  assertPostgres(connectionString);
  const { OutboxPgModule, pg } = await importDriver();
  const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  return {
    modules: [OutboxModule.forRoot({ worker: false }), OutboxPgModule.forRoot({ pool })],
    close: () => pool.end(),
  };
}

/** The error shows the scheme only: the rest of an address may hold a password. */
function assertPostgres(connectionString: string): void {
  const [, scheme] = /^([a-z][a-z0-9+.-]{0,30}):\/\//i.exec(connectionString) ?? [];
  if (scheme === undefined || SCHEMES.includes(scheme.toLowerCase())) return;
  throw new CommandError(
    `DATABASE_URL is a ${scheme.toLowerCase()}:// address, but without a config file the outbox must be in PostgreSQL; for MySQL, MariaDB or SQLite write an outbox.config.ts with the TypeORM store`,
    ExitCode.usage,
  );
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
