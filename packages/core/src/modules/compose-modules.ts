import { OutboxError } from '../errors.js';
import { assertKnownOptions, type OptionNames } from '../known-options.js';
import { type Binding, type Bindings, collectBindings, dependenciesOfRecipe, missing } from './bindings.js';
import { type Lifecycle, Lifecycles, STOP_NAMES, type StopOptions } from './lifecycle.js';
import { type Dependency, isLazy, isOptional, type Module, type Provider, tokenOf } from './module.js';
import { isPoolToken } from './pool.js';
import { type Token, type TokenKey, tokenKey, tokenName } from './token.js';

export interface ComposeOptions {
  /** Bindings of the application; they win over those of the modules. */
  readonly preferences?: readonly Provider[];
}

export interface StartOptions {
  /** `resource`: connections and the like, but nothing that works by itself. For commands and scripts. Default all. */
  readonly only?: 'resource';
}

const COMPOSE_NAMES: OptionNames<ComposeOptions> = { preferences: true };
const START_NAMES: OptionNames<StartOptions> = { only: true };

/** A composed application. */
export interface OutboxApp {
  /** The one instance behind a token; made when it is first asked for. */
  get<T>(token: Token<T>): T;
  /** Whether the token is bound; a pool always is. */
  has(token: Token): boolean;
  /** Every bound token. Bind each to `() => app.get(token)` to host the application in another container. */
  readonly tokens: readonly Token[];
  /** Starts what the modules run. When one fails, those already started are stopped again. */
  start(options?: StartOptions): Promise<void>;
  /** Stops what runs, in reverse order, and reports every error. Harmless when nothing runs. */
  stop(options?: StopOptions): Promise<void>;
}

/**
 * Composes modules into an application without choosing a container. Missing and doubled bindings and cycles
 * are refused here, by name.
 */
export function composeModules(modules: readonly Module[], options: ComposeOptions = {}): OutboxApp {
  assertKnownOptions('composeModules', options, COMPOSE_NAMES);
  return new ComposedApp(collectBindings(modules, options.preferences ?? []));
}

class ComposedApp implements OutboxApp {
  readonly tokens: readonly Token[];
  readonly #bindings: Bindings;
  readonly #instances = new Map<Binding | TokenKey, unknown>();
  #started: Lifecycle[] = [];
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
    this.tokens = [...bindings.providers.values()].map(({ token }) => token);
  }

  get<T>(token: Token<T>): T {
    return this.#resolve(token) as T;
  }

  has(token: Token): boolean {
    return isPoolToken(token) || this.#bindings.providers.has(tokenKey(token));
  }

  start(options: StartOptions = {}): Promise<void> {
    this.#starting ??= this.#startAll(options).catch((error) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  stop(options: StopOptions = {}): Promise<void> {
    this.#stopping ??= this.#stopAll(options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #startAll(options: StartOptions): Promise<void> {
    assertKnownOptions('start', options, START_NAMES, 'INVALID_ARGUMENT');
    const { only } = options;
    const all = this.get(Lifecycles).items;
    const resources = all.filter(({ phase }) => phase === 'resource');
    const work = only === 'resource' ? [] : all.filter(({ phase }) => phase !== 'resource');
    for (const lifecycle of [...resources, ...work]) {
      try {
        await lifecycle.start();
      } catch (error) {
        throw await this.#stopAfter(error);
      }
      this.#started.push(lifecycle);
    }
  }

  async #stopAll(options: StopOptions): Promise<void> {
    assertKnownOptions('stop', options, STOP_NAMES, 'INVALID_ARGUMENT');
    // A stop during the start waits for it: what starts later would otherwise never be stopped.
    await this.#starting?.catch(() => {});
    this.#starting = undefined;
    await this.#stopStarted(options);
  }

  async #stopAfter(error: unknown): Promise<unknown> {
    try {
      await this.#stopStarted({});
      return error;
    } catch (stopError) {
      return new AggregateError([error, stopError], 'the start failed, and so did stopping what had started');
    }
  }

  async #stopStarted(options: StopOptions): Promise<void> {
    const errors: unknown[] = [];
    const started = this.#started.reverse();
    this.#started = [];
    for (const lifecycle of started) {
      try {
        await lifecycle.stop(options);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1)
      throw new AggregateError(errors, 'several parts of the application failed to stop');
  }

  #resolve(dependency: Dependency): unknown {
    const token = tokenOf(dependency);
    if (isLazy(dependency)) return () => this.#resolve(token);
    const key = tokenKey(token);
    if (isPoolToken(token)) return this.#once(key, () => new token(this.#contributionsTo(key)));
    const binding = this.#bindings.providers.get(key);
    if (binding) return this.#once(key, () => this.#make(binding));
    if (isOptional(dependency)) return undefined;
    throw missing(token, 'app.get() asked for it');
  }

  #contributionsTo(key: TokenKey): unknown[] {
    return (this.#bindings.contributions.get(key) ?? []).map((binding) =>
      this.#once(binding, () => this.#make(binding)),
    );
  }

  #once(key: Binding | TokenKey, make: () => unknown): unknown {
    if (!this.#instances.has(key)) this.#instances.set(key, make());
    return this.#instances.get(key);
  }

  #make({ recipe, token, source }: Binding): unknown {
    if ('useValue' in recipe) return recipe.useValue;
    const args = dependenciesOfRecipe(recipe).map((dependency) => this.#resolve(dependency));
    if ('useExisting' in recipe) return args[0];
    const made = 'useClass' in recipe ? new recipe.useClass(...args) : recipe.useFactory(...args);
    if (made instanceof Promise) {
      throw new OutboxError(
        'INVALID_CONFIG',
        `the factory of ${tokenName(token)} (${source}) gave a Promise; await it before composing and pass useValue`,
      );
    }
    return made;
  }
}
