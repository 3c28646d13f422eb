import { OutboxWorker, type WorkerHealth } from '@postcommit/core';
import { assertKnownOptions, type OptionNames, OutboxDriver } from '@postcommit/core/internal';
import type { OutboxComposition } from './outbox-composition.js';

export interface OutboxHealthOptions {
  /**
   * Reports `down` when an event has been due for longer than this.
   *
   * @default no limit
   */
  readonly maxOldestPendingAgeMs?: number;
}

const HEALTH_NAMES: OptionNames<OutboxHealthOptions> = { maxOldestPendingAgeMs: true };

/** The result type that `HealthCheckService.check` of @nestjs/terminus expects. */
export type OutboxHealthResult<Key extends string = string> = Record<
  Key,
  { status: 'up' | 'down' } & Omit<WorkerHealth, 'status'>
>;

/**
 * A health check for readiness and alerts: up while the table can be read and, if this instance polls, its worker runs.
 *
 * @example
 * this.health.check([() => this.outbox.isHealthy('outbox')])
 */
export class OutboxHealthIndicator {
  readonly #composition: OutboxComposition;

  constructor(composition: OutboxComposition) {
    this.#composition = composition;
  }

  /**
   * Reports the health of the outbox. A failing check is `down`, not a rejection.
   *
   * @throws `INVALID_ARGUMENT` for an unknown option.
   */
  async isHealthy<const Key extends string = 'outbox'>(
    key: Key = 'outbox' as Key,
    options: OutboxHealthOptions = {},
  ): Promise<OutboxHealthResult<Key>> {
    assertKnownOptions('isHealthy', options, HEALTH_NAMES, 'INVALID_ARGUMENT');
    const { maxOldestPendingAgeMs = Number.POSITIVE_INFINITY } = options;
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
