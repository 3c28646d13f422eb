import { OutboxError } from '../errors.js';
import { type Dependency, type Module, type Provider, type Recipe } from './module.js';
import { type Token, type TokenKey } from './token.js';
/** A recipe and where it comes from, so that errors can name the module. */
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
/** Gathers what modules and preferences bind, and refuses what can't be resolved, before anything is made. */
export declare function collectBindings(modules: readonly Module[], preferences: readonly Provider[]): Bindings;
export declare function dependenciesOfRecipe(recipe: Recipe): readonly Dependency[];
export declare function missing(token: Token, because: string): OutboxError;
