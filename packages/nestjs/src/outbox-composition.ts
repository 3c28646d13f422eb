import {
  OutboxModule as CoreModule,
  composeModules,
  type Module,
  type OutboxApp,
  OutboxPublisher,
  OutboxStore,
  type PublishFunction,
  type Token,
} from '@postcommit/core';
import { tokenKey } from '@postcommit/core/internal';
import type { Listener } from '@postcommit/publisher-events';
import { PrismaClientToken } from '@postcommit/store-prisma';
import { type NestLookup, NestReference } from './nest-lookup.js';
import { ReferredPrismaClient, referredPublisher } from './nest-references.js';
import { OutboxHandlers } from './outbox-handlers.js';
import type { AnyStore, OutboxModuleOptions, PublisherSource } from './outbox-module-options.js';
import { invalid, type ResolvedOptions, resolveOptions } from './resolve-options.js';
import { isStore, storeModules } from './store-module.js';

/** What the composition needs from Nest. */
export interface NestSide {
  readonly lookup: NestLookup;
  readonly discover: () => readonly Listener[];
}

/** The outbox of a Nest application: turns its options into core modules and composes them. */
export class OutboxComposition {
  readonly app: OutboxApp;
  readonly options: ResolvedOptions;
  readonly #given: OutboxModuleOptions;
  readonly #handlers: OutboxHandlers;
  readonly #lookup: NestLookup;
  readonly #references: NestReference<object>[] = [];

  constructor(options: OutboxModuleOptions, { lookup, discover }: NestSide) {
    this.#given = options;
    this.options = resolveOptions(options);
    this.#handlers = new OutboxHandlers(discover, this.options.onNoListener);
    this.#lookup = lookup;
    this.app = composeModules(this.#modules());
  }

  /** The tokens that Nest may inject. */
  get tokens(): readonly Token[] {
    // Under a second token, Nest would call the client's hooks twice.
    const isHidden = (token: Token): boolean =>
      this.#given.prisma !== undefined && tokenKey(token) === tokenKey(PrismaClientToken);
    return this.app.tokens.filter((token) => !isHidden(token));
  }

  /**
   * The store.
   *
   * @throws OutboxError `INVALID_CONFIG` when it does not match the options.
   */
  get store(): AnyStore {
    const store: unknown = this.app.get(OutboxStore);
    const { stuckThreshold } = this.#given;
    if (!isStore(store))
      throw invalid('the store has no enqueueWith, so events could not be emitted in a transaction');
    if (stuckThreshold !== undefined && stuckThreshold !== store.claimTimeoutMs) {
      const advice = 'pass it the same claimTimeoutMs, or leave stuckThreshold out';
      throw invalid(
        `stuckThreshold is ${stuckThreshold}, but the store was created with a claimTimeoutMs of ${store.claimTimeoutMs}; ${advice}`,
      );
    }
    return store;
  }

  /**
   * Checks what can be known only once all providers exist; called at startup.
   *
   * @throws OutboxError `MISSING_BINDING` or `INVALID_CONFIG`.
   */
  assertReady(): void {
    for (const reference of this.#references) reference.get();
    const [handler] = this.#handlers.find();
    if (!handler || this.app.get(OutboxPublisher) === this.#handlers) return;
    throw invalid(
      `events go to the configured publisher, so ${handler.name} would never be called; remove @OnOutboxEvent, ` +
        'or contribute the publisher to OutboxRoutes, for its own events only',
    );
  }

  #modules(): Module[] {
    const { modules = [] } = this.#given;
    const stores = storeModules(
      this.#given,
      this.options.claimTimeoutMs,
      (client) => new ReferredPrismaClient(this.#refer(client)),
    );
    if (![...stores, ...modules].some((module) => binds(module, OutboxStore)))
      throw invalid(
        'there is no store; pass prisma: PrismaService, or store: OutboxTypeormModule.forRoot({ dataSource })',
      );
    return [
      CoreModule.forRoot({ ...this.options.core, publisher: this.#publisher() }),
      ...stores,
      ...modules,
    ];
  }

  /** The configured publisher; otherwise the one that a module binds; otherwise the handlers. */
  #publisher(): OutboxPublisher | PublishFunction | undefined {
    const { modules = [] } = this.#given;
    const source = this.options.publisher;
    if (source === undefined)
      return modules.some((module) => binds(module, OutboxPublisher)) ? undefined : this.#handlers;
    return isPublisherClass(source) ? referredPublisher(source, this.#refer(source)) : source;
  }

  #refer<T extends object>(token: Token<T>): NestReference<T> {
    const reference = new NestReference(this.#lookup, token);
    this.#references.push(reference);
    return reference;
  }
}

function binds({ provides = [] }: Module, token: Token): boolean {
  return provides.some(({ provide }) => tokenKey(provide) === tokenKey(token));
}

function isPublisherClass(source: PublisherSource): source is Token<OutboxPublisher> {
  return typeof source === 'function' && typeof source.prototype?.publish === 'function';
}
