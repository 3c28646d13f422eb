import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { OutboxSignals } from '@postcommit/core';
import type { OutboxComposition } from './outbox-composition.js';
import { logSignals } from './signal-log.js';

/**
 * Starts the outbox when every provider is ready, and stops it before connections are closed: those of a provider
 * that closes them in `onApplicationShutdown`.
 */
export class OutboxLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #composition: OutboxComposition;
  readonly #shutdownGraceMs: number | undefined;

  constructor(composition: OutboxComposition, shutdownGraceMs: number | undefined) {
    this.#composition = composition;
    this.#shutdownGraceMs = shutdownGraceMs;
    logSignals(composition.app.get(OutboxSignals), new Logger('OutboxModule'));
  }

  async onApplicationBootstrap(): Promise<void> {
    this.#composition.assertReady();
    await this.#composition.app.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    const graceMs = this.#shutdownGraceMs;
    await this.#composition.app.stop(graceMs === undefined ? {} : { graceMs });
  }
}
