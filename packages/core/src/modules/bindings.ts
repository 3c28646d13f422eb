import { OutboxError } from '../message/errors.js';
import { assertKnownOptions } from '../message/known-options.js';
import { assertModule } from './assert-module.js';
import { isContributionsToken } from './contributions.js';
import { dependenciesOf } from './inject.js';
import {
  CONTRIBUTION_NAMES,
  type Dependency,
  isLazy,
  isOptional,
  MODULE_NAMES,
  type Module,
  PROVIDER_NAMES,
  type Provider,
  type Recipe,
  tokenOf,
} from './module.js';
import { type Token, type TokenKey, tokenKey, tokenName } from './token.js';

/** A recipe and its source, so that errors can name the module. */
export interface Binding {
  readonly token: Token;
  readonly recipe: Recipe;
  /** `module outbox` or `preferences`. */
  readonly source: string;
}

export interface Bindings {
  readonly providers: ReadonlyMap<TokenKey, Binding>;
  readonly contributions: ReadonlyMap<TokenKey, readonly Binding[]>;
}

/**
 * Collects the bindings of modules and preferences.
 *
 * @throws `DOUBLED_BINDING`, `MISSING_BINDING`, `CYCLIC_BINDING` or `INVALID_CONFIG`, before any instance is created.
 */
export function collectBindings(modules: readonly Module[], preferences: readonly Provider[]): Bindings {
  modules.forEach(assertModule);
  modules.forEach(assertKnownNames);
  const bindings = {
    providers: collectProviders(modules, preferences),
    contributions: collectContributions(modules),
  };
  const checked = new Set<Binding>();
  for (const binding of allBindings(bindings)) assertResolvable(binding, bindings, [], checked);
  return bindings;
}

/** Ignores functions: a module may also have a `forRoot`. */
function assertKnownNames(module: Module): void {
  const data = Object.entries(module).filter(([, value]) => typeof value !== 'function');
  assertKnownOptions(`module ${module.name}`, Object.fromEntries(data) as unknown as Module, MODULE_NAMES);
}

function collectProviders(
  modules: readonly Module[],
  preferences: readonly Provider[],
): Map<TokenKey, Binding> {
  const preferred = new Map<TokenKey, Binding>();
  for (const provider of preferences) addOnce(preferred, toBinding(provider, 'preferences'));
  const provided = new Map<TokenKey, Binding>();
  for (const module of modules) {
    for (const provider of module.provides ?? [])
      addOnce(provided, toBinding(provider, `module ${module.name}`));
  }
  return new Map([...provided, ...preferred]);
}

function toBinding(provider: Provider, source: string): Binding {
  assertKnownOptions(`a provider of ${source}`, provider, PROVIDER_NAMES);
  const { provide, ...recipe } = provider;
  if (isContributionsToken(provide)) {
    const problem = `${source} binds ${tokenName(provide)}, a list of contributions; add to it with contributes: [{ to: ${tokenName(provide)}, … }]`;
    throw new OutboxError('INVALID_CONFIG', problem);
  }
  return { token: provide, recipe: recipe as Recipe, source };
}

function addOnce(bindings: Map<TokenKey, Binding>, binding: Binding): void {
  const key = tokenKey(binding.token);
  const first = bindings.get(key);
  if (first) {
    throw new OutboxError(
      'DOUBLED_BINDING',
      `${tokenName(binding.token)} is bound twice: by ${first.source} and by ${binding.source}; compose one of them, or choose with a preference`,
    );
  }
  bindings.set(key, binding);
}

function collectContributions(modules: readonly Module[]): Map<TokenKey, Binding[]> {
  const contributions = new Map<TokenKey, Binding[]>();
  for (const module of modules) {
    for (const contribution of module.contributes ?? []) {
      assertKnownOptions(`a contribution of module ${module.name}`, contribution, CONTRIBUTION_NAMES);
      const { to, ...recipe } = contribution;
      const binding = { token: to, recipe: recipe as Recipe, source: `module ${module.name}` };
      const key = tokenKey(to);
      contributions.set(key, [...(contributions.get(key) ?? []), binding]);
    }
  }
  return contributions;
}

function allBindings({ providers, contributions }: Bindings): Binding[] {
  return [...providers.values(), ...[...contributions.values()].flat()];
}

/** Walks the dependencies depth first; `path` holds the bindings that led here. */
function assertResolvable(
  binding: Binding,
  bindings: Bindings,
  path: readonly Binding[],
  checked: Set<Binding>,
): void {
  if (checked.has(binding)) return;
  if (path.includes(binding)) throw cycle([...path.slice(path.indexOf(binding)), binding]);
  for (const dependency of dependenciesOfRecipe(binding.recipe)) {
    const targets = targetsOf(dependency, bindings, binding);
    // A lazy dependency is created later, so it can't cause a cycle.
    if (isLazy(dependency)) continue;
    for (const next of targets) assertResolvable(next, bindings, [...path, binding], checked);
  }
  checked.add(binding);
}

function targetsOf(
  dependency: Dependency,
  { providers, contributions }: Bindings,
  wanting: Binding,
): readonly Binding[] {
  if (dependency === undefined) {
    const problem = `${wanting.source} injects undefined into ${tokenName(wanting.token)}; do two files import each other?`;
    throw new OutboxError('MISSING_BINDING', problem);
  }
  const token = tokenOf(dependency);
  const key = tokenKey(token);
  if (isContributionsToken(token)) return contributions.get(key) ?? [];
  const found = providers.get(key);
  if (found) return [found];
  if (isOptional(dependency)) return [];
  throw missing(token, `${wanting.source} needs it for ${tokenName(wanting.token)}`);
}

export function dependenciesOfRecipe(recipe: Recipe): readonly Dependency[] {
  if ('useExisting' in recipe) return [recipe.useExisting];
  if ('useClass' in recipe) return recipe.inject ?? dependenciesOf(recipe.useClass);
  return 'useFactory' in recipe ? (recipe.inject ?? []) : [];
}

export function missing(token: Token, because: string): OutboxError {
  const name = tokenName(token);
  return new OutboxError(
    'MISSING_BINDING',
    `${name} is not bound: ${because}; compose a module that provides it, or add preferences: [{ provide: ${name}, … }]`,
  );
}

function cycle(path: readonly Binding[]): OutboxError {
  const steps = path.map(({ token, source }) => `${tokenName(token)} (${source})`);
  return new OutboxError('CYCLIC_BINDING', `these need each other: ${steps.join(' -> ')}`);
}
