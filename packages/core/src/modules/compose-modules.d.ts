import { type StopOptions } from './lifecycle.js';
import { type Module, type Provider } from './module.js';
import { type Token } from './token.js';
export interface ComposeOptions {
    /** Bindings of the application; they win over those of the modules. */
    readonly preferences?: readonly Provider[];
}
export interface StartOptions {
    /** `resource`: connections and the like, but nothing that works by itself. For commands and scripts. Default all. */
    readonly only?: 'resource';
}
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
export declare function composeModules(modules: readonly Module[], options?: ComposeOptions): OutboxApp;
