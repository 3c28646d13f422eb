import type { OutboxApp } from '@postcommit/core';

/**
 * Runs `work` between start and stop of the application's resources, its connections. What does work of its own, the
 * worker or a scheduler, stays off: a command must not begin to publish. A resource that does not close is told to
 * `onStopError`: it must not hide how the work ended.
 */
export async function withResources(
  app: OutboxApp,
  work: () => Promise<void>,
  onStopError: (error: unknown) => void,
): Promise<void> {
  await app.start({ only: 'resource' });
  try {
    await work();
  } finally {
    await app.stop().catch(onStopError);
  }
}
