import type { Dependency } from './module.js';
import { type Token } from './token.js';
/** Marks a class that the composition may construct. It changes nothing; for both kinds of decorators. */
export declare function Injectable(): (target: Token, context?: ClassDecoratorContext) => void;
/**
 * Names the token of a constructor parameter (a legacy parameter decorator; needs no reflect-metadata).
 * `static inject = [A, B] as const` says the same without decorators.
 */
export declare function Inject(token: Token): (target: object, property: string | symbol | undefined, index: number) => void;
/** What the constructor of `target` wants, in order. */
export declare function dependenciesOf(target: Token): readonly Dependency[];
