import { launchPostgres } from './postgres-launcher.js';
import { platformPackage } from './postgres-package.js';

export interface PostgresServer {
  /** `postgres://postgres@127.0.0.1:<port>/postgres`: the same before and after a restart. */
  readonly url: string;
  /** Of the current postmaster; a restart changes it. */
  readonly pid: number;
  /** Stops the server and removes its folder. Waits 3 s for clients, then cuts them off. Idempotent. */
  stop(): Promise<void>;
  /**
   * Same port, same data. `fast` (default) ends the sessions in order; `immediate` is a crash: the server recovers
   * from its log. Also starts a server again whose postmaster was killed. No acknowledged commit is lost by either.
   */
  restart(mode?: 'fast' | 'immediate'): Promise<void>;
}

export interface PostgresOptions {
  /** Also survive the loss of power, as in production: for benchmarks. Default false. */
  durable?: boolean;
  /** Server settings by name, as `-c name=value`; they win over ours. */
  settings?: Record<string, string>;
}

/**
 * Starts a PostgreSQL of its own from npm, on a free port of 127.0.0.1, in about a second.
 * However this process ends, even by SIGKILL, the server is stopped and its folder removed.
 * A running server does not keep this process alive.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  return launchPostgres(options, { packageFolder: platformPackage() });
}
