import { Redis } from 'ioredis';

const url = process.env.BENCH_REDIS_URL ?? 'redis://127.0.0.1:6379';

export function connectRedis(): Redis {
  // What BullMQ asks for: a worker waits for Redis to come back.
  return new Redis(url, { maxRetriesPerRequest: null });
}

/** How durable it is set up to be, in words; undefined where none listens. */
export async function describeRedis(): Promise<string | undefined> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  redis.on('error', () => {});
  try {
    await redis.connect();
    const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1];
    const [, appendOnly] = (await redis.config('GET', 'appendonly')) as string[];
    const [, appendFsync] = (await redis.config('GET', 'appendfsync')) as string[];
    return `${version}, appendonly ${appendOnly}${appendOnly === 'yes' ? ` (${appendFsync})` : ''}`;
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}

/** Everything that a benchmark's queue left in Redis. */
export async function deleteKeys(prefix: string): Promise<void> {
  const redis = connectRedis();
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 }))
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
  } finally {
    redis.disconnect();
  }
}
