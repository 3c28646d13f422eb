import { isOutboxError, OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { type Binding, type Bindings, collectBindings, dependenciesOfRecipe, missing } from './bindings.js';
import { isContributionsToken } from './contributions.js';
import { type Lifecycle, Lifecycles, STOP_NAMES, type StopOptions, startsOnDemand } from './lifecycle.js';
import { LifecycleRuns } from './lifecycle-runs.js';
import { type Dependency, isLazy, isOptional, type Module, type Provider, tokenOf } from './module.js';
import { type Token, type TokenKey, tokenKey, tokenName } from './token.js';

export interface ComposeOptions {
  /** The application's own bindings. They override those of the modules. */
  readonly preferences?: readonly Provider[];
}

export interface StartOptions {
  /** `resource` starts connections and the like but no background work: for commands and scripts. @default all */
  readonly only?: 'resource';
}

const COMPOSE_NAMES: OptionNames<ComposeOptions> = { preferences: true };
const START_NAMES: OptionNames<StartOptions> = { only: true };

/** A composed application. */
export interface OutboxApp {
  /**
   * Returns the single instance of a token. It is created on first use.
   *
   * @throws `MISSING_BINDING` if the token is not bound.
   */
  get<T>(token: Token<T>): T;
  /** Whether the token is bound; a list of contributions always is. */
  has(token: Token): boolean;
  /** All bound tokens. To use the application in another container, bind each to `() => app.get(token)`. */
  readonly tokens: readonly Token[];
  /**
   * Starts the parts that the modules contribute. If one fails, those already started are stopped again.
   *
   * @throws `START_ABANDONED` if `stop()` gave up on the start.
   */
  start(options?: StartOptions): Promise<void>;
  /**
   * Stops all parts in reverse order and reports every error. Does nothing if nothing is running. A start in progress
   * has `graceMs` to finish. One that hangs, for example on a database that does not answer, is abandoned: parts that
   * have started are stopped, and parts that start later are stopped again.
   *
   * @throws `START_ABANDONED` if a start was abandoned; the text names the part that hangs.
   */
  stop(options?: StopOptions): Promise<void>;
}

/**
 * Composes modules into an application. Works without a container, and inside any container.
 *
 * @throws `MISSING_BINDING`, `DOUBLED_BINDING`, `CYCLIC_BINDING` or `INVALID_CONFIG`; the text names the modules.
 * @example
 * const app = composeModules([OutboxModule.forRoot({ publisher }), pgStore(pool)]);
 * await app.start();
 */
export function composeModules(modules: readonly Module[], options: ComposeOptions = {}): OutboxApp {
  assertKnownOptions('composeModules', options, COMPOSE_NAMES);
  return new ComposedApp(collectBindings(modules, options.preferences ?? []));
}

class ComposedApp implements OutboxApp {
  readonly tokens: readonly Token[];
  readonly #bindings: Bindings;
  readonly #instances = new Map<Binding | TokenKey, unknown>();
  readonly #runs = new LifecycleRuns();

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
    this.tokens = [...bindings.providers.values()].map(({ token }) => token);
  }

  get<T>(token: Token<T>): T {
    return this.#resolve(token) as T;
  }

  has(token: Token): boolean {
    return isContributionsToken(token) || this.#bindings.providers.has(tokenKey(token));
  }

  async start(options: StartOptions = {}): Promise<void> {
    assertKnownOptions('start', options, START_NAMES, 'INVALID_ARGUMENT');
    try {
      await this.#runs.start(() => lifecyclesFor(this.get(Lifecycles).items, options));
    } catch (error) {
      // The stop that gave up on the start stops them too, within its own grace period.
      if (isOutboxError(error) && error.code === 'START_ABANDONED') throw error;
      throw joined([error, ...(await this.#stopOnDemand({}))]);
    }
  }

  async stop(options: StopOptions = {}): Promise<void> {
    assertKnownOptions('stop', options, STOP_NAMES, 'INVALID_ARGUMENT');
    const errors: unknown[] = [];
    await this.#runs.stop(options).catch((error) => errors.push(error));
    errors.push(...(await this.#stopOnDemand(options)));
    if (errors.length > 0) throw joined(errors);
  }

  /**
   * Stops what `start()` or `dispatchPending()` has started on demand, unless the application has been started again: then
   * it is in use. Returns the errors.
   */
  async #stopOnDemand(options: StopOptions): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const instance of this.#instances.values())
      if (startsOnDemand(instance) && !this.#runs.isRunning)
        await instance.stop(options).catch((error) => errors.push(error));
    return errors;
  }

  #resolve(dependency: Dependency): unknown {
    const token = tokenOf(dependency);
    if (isLazy(dependency)) return () => this.#resolve(token);
    const key = tokenKey(token);
    if (isContributionsToken(token)) return this.#once(key, () => new token(this.#contributionsTo(key)));
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
        `the factory of ${tokenName(token)} (${source}) returned a Promise; await it before composing and pass useValue`,
      );
    }
    return made;
  }
}

function joined([error, ...more]: readonly unknown[]): unknown {
  if (more.length === 0) return error;
  return new AggregateError([error, ...more], 'several parts of the application failed');
}

function lifecyclesFor(all: readonly Lifecycle[], { only }: StartOptions): Lifecycle[] {
  const resources = all.filter(({ phase }) => phase === 'resource');
  return only === 'resource' ? resources : [...resources, ...all.filter(({ phase }) => phase !== 'resource')];
}
