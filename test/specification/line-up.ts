import {
  composeModules,
  DispatchEvents,
  type DispatchSummary,
  type Module,
  type OutboxApp,
} from '@postcommit/core';
import { onTestFinished } from 'vitest';

/** Composes an application that is stopped when its test ends. */
export function compose(
  modules: readonly Module[],
  options?: Parameters<typeof composeModules>[1],
): OutboxApp {
  const app = composeModules(modules, options);
  onTestFinished(() => app.stop());
  return app;
}

/** The next batch that the application settles, by whatever drives it. Ask before it can come. */
export function nextBatch(app: OutboxApp): Promise<DispatchSummary> {
  return new Promise((resolve) => {
    const off = app.get(DispatchEvents).on('batch', (summary) => {
      off();
      resolve(summary);
    });
  });
}
