import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { OutboxApp } from '@postcommit/core';

/** Nest decides when the outbox starts and stops. */
class OutboxLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly app: OutboxApp) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.app.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.app.stop();
  }
}

@Module({})
class HostedOutboxModule {}

/** A Nest module with a provider for every token of a composed application. */
export function hostOutbox(app: OutboxApp): DynamicModule {
  const providers = app.tokens.map((token) => ({ provide: token, useFactory: () => app.get(token) }));
  const lifecycle = { provide: OutboxLifecycle, useFactory: () => new OutboxLifecycle(app) };
  return {
    module: HostedOutboxModule,
    global: true,
    providers: [...providers, lifecycle],
    exports: [...app.tokens],
  };
}
