import { cpus, release, totalmem, type } from 'node:os';
import type { Server, WalLevel } from './place.js';
import { describeRedis } from './subjects/redis.js';

/** What a reader needs to judge the figures; nothing that names the machine. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  readonly redis: string;
}

export async function describeMachine(server: Server, walLevel: WalLevel): Promise<Machine> {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    system: `${type()} ${release().split('-')[0]}`,
    node: process.version,
    postgres: `${server.version}, fsync and synchronous_commit on, wal_level ${walLevel}`,
    redis: (await describeRedis()) ?? 'none',
  };
}
