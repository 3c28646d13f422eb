import type { OutboxApp } from '@postcommit/core';

/**
 * Opens the application's resources (its connections), runs `work` and closes them. The worker and schedulers don't start,
 * so a command never publishes by accident. Failures to close go to `onStopError`, so that they don't hide an error of `work`.
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
