import { OutboxDriver, OutboxWorker, type WorkerHealth } from '@postcommit/core';
import type { OutboxComposition } from './outbox-composition.js';

export interface OutboxHealthOptions {
  /** Down when an event has been due for longer. Default: however long. */
  readonly maxOldestPendingAgeMs?: number;
}

/** What `HealthCheckService.check` of @nestjs/terminus takes. */
export type OutboxHealthResult<Key extends string = string> = Record<
  Key,
  { status: 'up' | 'down' } & Omit<WorkerHealth, 'status'>
>;

/**
 * For readiness and alerts: up while the table answers and, where this instance polls, its worker runs.
 *
 * @example
 * this.health.check([() => this.outbox.isHealthy('outbox')])
 */
export class OutboxHealthIndicator {
  readonly #composition: OutboxComposition;

  constructor(composition: OutboxComposition) {
    this.#composition = composition;
  }

  /** Does not throw. */
  async isHealthy<const Key extends string = 'outbox'>(
    key: Key = 'outbox' as Key,
    { maxOldestPendingAgeMs = Number.POSITIVE_INFINITY }: OutboxHealthOptions = {},
  ): Promise<OutboxHealthResult<Key>> {
    const { status, ...details } = await this.#composition.app.get(OutboxWorker).health();
    const runs = this.#hasWorker ? status === 'up' : details.error === undefined;
    const isInTime = (details.oldestPendingAgeMs ?? 0) <= maxOldestPendingAgeMs;
    return { [key]: { status: runs && isInTime ? 'up' : 'down', ...details } } as OutboxHealthResult<Key>;
  }

  get #hasWorker(): boolean {
    const { app, options } = this.#composition;
    return options.isPolling && !app.has(OutboxDriver);
  }
}
