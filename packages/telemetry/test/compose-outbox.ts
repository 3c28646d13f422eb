import {
  composeModules,
  type Module,
  type OutboxApp,
  OutboxDispatcher,
  OutboxModule,
  type OutboxModuleOptions,
  type PublishFunction,
} from '@postcommit/core';
import { OutboxDriver } from '@postcommit/core/internal';
import { MemoryOutboxStore, MemoryTable, OutboxMemoryModule, VirtualClock } from '@postcommit/store-memory';
import { OutboxTelemetryModule, type TelemetryOptions } from '@postcommit/telemetry';

export interface TestOutbox {
  readonly app: OutboxApp;
  readonly clock: VirtualClock;
  readonly store: MemoryOutboxStore;
  readonly dispatcher: OutboxDispatcher;
}

/** A whole application on the memory store, in virtual time, with telemetry composed in. Nothing drives it but the test. */
export function composeOutbox(
  publisher: PublishFunction,
  options: OutboxModuleOptions = {},
  telemetry: TelemetryOptions = {},
  more: readonly Module[] = [],
): TestOutbox {
  const clock = new VirtualClock();
  const app = composeModules(
    [
      OutboxModule.forRoot({ ...options, publisher }),
      OutboxMemoryModule.forRoot({ table: new MemoryTable(clock) }),
      OutboxTelemetryModule.forRoot({ clock, ...telemetry }),
      ...more,
    ],
    { preferences: [{ provide: OutboxDriver, useValue: { name: 'the test' } }] },
  );
  return { app, clock, store: app.get(MemoryOutboxStore), dispatcher: app.get(OutboxDispatcher) };
}
