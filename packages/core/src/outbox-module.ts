import { type EnqueueOptions, EnqueuePipeline } from './enqueue.js';
import { OutboxError } from './errors.js';
import { OutboxInterceptors } from './interceptors.js';
import { type Module, optional, type Provider, provideFactory } from './modules/module.js';
import { type OutboxConfig, resolveConfig } from './outbox-config.js';
import { OutboxDispatcher } from './outbox-dispatcher.js';
import { OutboxPublisher, type PublishFunction, toPublisher } from './outbox-publisher.js';
import { OutboxSignals } from './outbox-signals.js';
import { OutboxStore } from './outbox-store.js';
import { OutboxRoutes, RoutedPublisher } from './publisher-routes.js';

export interface OutboxModuleOptions
  extends Partial<OutboxConfig>,
    Pick<EnqueueOptions, 'schemas' | 'maxPayloadBytes'> {
  /** Short for a preference that binds `OutboxPublisher`. */
  readonly publisher?: OutboxPublisher | PublishFunction | undefined;
}

/**
 * The heart of every line-up: the enqueue pipeline and the dispatcher. Compose it with one store module.
 * It is a module itself, with all defaults; `forRoot` takes options.
 */
export const OutboxModule: Module & { forRoot(options?: OutboxModuleOptions): Module } = {
  ...outboxModule({}),
  forRoot: (options = {}) => outboxModule(options),
};

function outboxModule(options: OutboxModuleOptions): Module {
  const { publisher, schemas, maxPayloadBytes, ...config } = options;
  const enqueuing = {
    ...(schemas && { schemas }),
    ...(maxPayloadBytes !== undefined && { maxPayloadBytes }),
  };
  // Refuses nonsense here, where it was written, not when the first entry comes.
  resolveConfig(config);
  new EnqueuePipeline(enqueuing);
  return {
    name: 'OutboxModule',
    provides: [
      { provide: OutboxSignals, useFactory: () => new OutboxSignals() },
      provideFactory(
        EnqueuePipeline,
        [OutboxInterceptors],
        (interceptors) => new EnqueuePipeline({ ...enqueuing, interceptors }),
      ),
      provideFactory(
        OutboxDispatcher,
        [OutboxStore, optional(OutboxPublisher), OutboxRoutes, OutboxInterceptors, EnqueuePipeline],
        (store, bound, routes, interceptors, pipeline) =>
          new OutboxDispatcher(store, withRoutes(bound, routes), { ...config, interceptors, pipeline }),
      ),
      ...publisherProvider(publisher),
    ],
  };
}

function publisherProvider(publisher: OutboxPublisher | PublishFunction | undefined): Provider[] {
  return publisher === undefined ? [] : [{ provide: OutboxPublisher, useValue: toPublisher(publisher) }];
}

/** Contributed routes come first: their rows are not the application's. */
function withRoutes(publisher: OutboxPublisher | undefined, routes: OutboxRoutes): OutboxPublisher {
  if (!publisher && routes.items.length === 0) {
    throw new OutboxError(
      'MISSING_BINDING',
      'OutboxPublisher is not bound, so OutboxDispatcher has nowhere to send rows: use OutboxModule.forRoot({ publisher }), compose a publisher module, or add preferences: [{ provide: OutboxPublisher, useClass: … }]',
    );
  }
  if (routes.items.length === 0 && publisher) return publisher;
  const rest = publisher ? [{ name: 'OutboxPublisher', matches: () => true, publisher }] : [];
  return new RoutedPublisher([...routes, ...rest]);
}
