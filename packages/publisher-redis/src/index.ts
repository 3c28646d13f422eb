export { OutboxRedisModule } from './outbox-redis-module.js';
export type { RedisArgument, RedisClientLike, RedisCommandOptions } from './redis-client-like.js';
export type {
  AofSettings,
  Credential,
  RedisDurability,
  RedisPublisherOptions,
  RedisServerOptions,
  ReplicaSettings,
} from './redis-options.js';
export { redisPublisher } from './redis-publisher.js';
