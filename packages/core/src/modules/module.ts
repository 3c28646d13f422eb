import type { OptionNames } from '../message/known-options.js';
import type { Contributions, ContributionsToken } from './contributions.js';
import type { Token } from './token.js';

/** In an `inject` list: a token that may be unbound. It then resolves to `undefined`. */
export interface OptionalToken<T = unknown> {
  readonly optional: Token<T>;
}

/** In an `inject` list: injects a function that resolves the token when called. */
export interface LazyToken<T = unknown> {
  readonly lazy: Token<T>;
}

export type Dependency = Token | OptionalToken | LazyToken;

export function optional<T>(token: Token<T>): OptionalToken<T> {
  return { optional: token };
}

export function lazy<T>(token: Token<T>): LazyToken<T> {
  return { lazy: token };
}

/** Checks for an object, because a class may have a static member named `optional`. */
export function isOptional(dependency: Dependency): dependency is OptionalToken {
  return typeof dependency === 'object' && 'optional' in dependency;
}

export function isLazy(dependency: Dependency): dependency is LazyToken {
  return typeof dependency === 'object' && 'lazy' in dependency;
}

export function tokenOf(dependency: Dependency): Token {
  if (isOptional(dependency)) return dependency.optional;
  return isLazy(dependency) ? dependency.lazy : dependency;
}

/** What a dependency resolves to. */
export type Resolved<D> =
  D extends OptionalToken<infer T>
    ? T | undefined
    : D extends LazyToken<infer T>
      ? () => T
      : D extends abstract new (
            ...args: never[]
          ) => infer T
        ? T
        : never;

type ResolvedAll<Dependencies extends readonly Dependency[]> = {
  -readonly [Index in keyof Dependencies]: Resolved<Dependencies[Index]>;
};

/** How to create an instance. Each is created once, on first use. */
export type Recipe<T = unknown> =
  | { readonly useValue: T }
  // biome-ignore lint/suspicious/noExplicitAny: a list of recipes holds factories of every parameter list.
  | { readonly useFactory: (...args: any[]) => T; readonly inject?: readonly Dependency[] }
  // biome-ignore lint/suspicious/noExplicitAny: likewise for constructors.
  | { readonly useClass: new (...args: any[]) => T; readonly inject?: readonly Dependency[] }
  | { readonly useExisting: Token<T> };

/** Binds a token. */
export type Provider<T = unknown> = { readonly provide: Token<T> } & Recipe<T>;

/** Adds one item to a list of contributions. */
export type Contribution<T = unknown> = { readonly to: ContributionsToken<T> } & Recipe<T>;

/** A part of an application, as data. */
export interface Module {
  readonly name: string;
  readonly provides?: readonly Provider[];
  readonly contributes?: readonly Contribution[];
}

export const MODULE_NAMES: OptionNames<Module> = { name: true, provides: true, contributes: true };

const RECIPE_NAMES: OptionNames<Recipe> = {
  useValue: true,
  useFactory: true,
  useClass: true,
  useExisting: true,
  inject: true,
};

export const PROVIDER_NAMES: OptionNames<Provider> = { provide: true, ...RECIPE_NAMES };
export const CONTRIBUTION_NAMES: OptionNames<Contribution> = { to: true, ...RECIPE_NAMES };

/** Builds a provider whose factory is checked against its `inject` list. */
export function provideFactory<T, const Dependencies extends readonly Dependency[]>(
  token: Token<T>,
  inject: Dependencies,
  useFactory: (...args: ResolvedAll<Dependencies>) => NoInfer<T>,
): Provider<T> {
  return { provide: token, inject, useFactory };
}

/** Builds a contribution whose factory is checked against its `inject` list. */
export function contributeFactory<T, const Dependencies extends readonly Dependency[]>(
  to: new (items: readonly T[]) => Contributions<T>,
  inject: Dependencies,
  useFactory: (...args: ResolvedAll<Dependencies>) => NoInfer<T>,
): Contribution<T> {
  return { to, inject, useFactory };
}
