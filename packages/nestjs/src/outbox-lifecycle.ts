import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DispatchEvents } from '@postcommit/core';
import { logEvents } from './event-log.js';
import type { OutboxComposition } from './outbox-composition.js';

export interface LifecycleOptions {
  readonly shutdownGraceMs: number | undefined;
  /** For programs that run commands: each command opens and closes what it needs. */
  readonly startsNothing: boolean;
}

/**
 * Starts the outbox once every provider is ready, and stops it before providers close their connections in
 * `onApplicationShutdown`.
 */
export class OutboxLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #composition: OutboxComposition;
  readonly #options: LifecycleOptions;

  constructor(composition: OutboxComposition, options: LifecycleOptions) {
    this.#composition = composition;
    this.#options = options;
    logEvents(composition.app.get(DispatchEvents), new Logger('OutboxModule'));
  }

  async onApplicationBootstrap(): Promise<void> {
    this.#composition.assertReady();
    if (!this.#options.startsNothing) await this.#composition.app.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    const { shutdownGraceMs: graceMs } = this.#options;
    await this.#composition.app.stop(graceMs === undefined ? {} : { graceMs });
  }
}
