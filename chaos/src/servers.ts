import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PostgresServer, startPostgres } from '@internal/test-database/postgres';
import { bundleProgram } from '../../internal/test-database/src/bundle-program.js';
import pg from '../../internal/test-database/src/pg.js';
import { setup as generatePrismaClient } from '../../packages/store-prisma/test/generate-client.mjs';

const chaosFolder = fileURLToPath(new URL('../', import.meta.url));

/**
 * What all scenarios of a run share: one server for all ledgers and for what harms no server (who does gets one of
 * its own), and the program of their processes.
 */
export class Servers {
  readonly shared: PostgresServer;
  /** The file that a process is started with. */
  readonly program: string;
  readonly #programFolder: string;

  static async start(): Promise<Servers> {
    // Below the folder whose packages the program uses.
    const folder = join(chaosFolder, 'node_modules/.cache', `chaos-${randomBytes(6).toString('hex')}`);
    const bundle = {
      entry: join(chaosFolder, 'src/child/main.ts'),
      tsconfig: join(chaosFolder, 'tsconfig.json'),
      outFolder: folder,
      external: ['pg', 'typeorm', /^@prisma\//],
    };
    const [shared] = await Promise.all([
      startPostgres({ settings: { max_connections: '500' } }),
      generatePrismaClient().then(() => bundleProgram(bundle)),
    ]);
    return new Servers(shared, folder);
  }

  private constructor(shared: PostgresServer, programFolder: string) {
    this.shared = shared;
    this.#programFolder = programFolder;
    this.program = join(programFolder, 'main.mjs');
  }

  own(settings: Record<string, string>): Promise<PostgresServer> {
    return startPostgres({ settings });
  }

  /** A schema of its own in the shared server's first database, by its search path: cheaper than a database. */
  async createLedger(name: string): Promise<string> {
    await run(this.shared.url, `create schema "${name}"`);
    return `${this.shared.url}?options=${encodeURIComponent(`-c search_path=${name}`)}`;
  }

  async dropLedger(name: string): Promise<void> {
    await run(this.shared.url, `drop schema "${name}" cascade`);
  }

  /** Gives its url. */
  async createDatabase(serverUrl: string, name: string): Promise<string> {
    await run(serverUrl, `create database "${name}" template template0`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return url.href;
  }

  async dropDatabase(name: string): Promise<void> {
    await run(this.shared.url, `drop database if exists "${name}" with (force)`);
  }

  async stop(): Promise<void> {
    await this.shared.stop();
    await rm(this.#programFolder, { recursive: true, force: true });
  }
}

async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  // What breaks it while it waits for nothing must not end the run; what it was to do fails by itself.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
