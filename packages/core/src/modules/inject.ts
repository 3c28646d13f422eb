import { OutboxError } from '../message/errors.js';
import type { Dependency } from './module.js';
import { type Token, tokenName } from './token.js';

const INJECT = Symbol.for('@postcommit/inject');

interface Injectable {
  readonly inject?: readonly Dependency[];
}

/** Marks a class as injectable. Has no effect at run time; works with legacy and standard decorators. */
export function Injectable(): (target: Token, context?: ClassDecoratorContext) => void {
  return () => {};
}

/**
 * Names the token of a constructor parameter. A legacy parameter decorator; needs no reflect-metadata. Without
 * decorators, write `static inject = [A, B] as const`.
 */
export function Inject(
  token: Token,
): (target: object, property: string | symbol | undefined, index: number) => void {
  return (target, property, index) => {
    if (property !== undefined) {
      throw new OutboxError(
        'INVALID_CONFIG',
        `@Inject belongs on constructor parameters, not on ${String(property)}`,
      );
    }
    const own = Object.hasOwn(target, INJECT) ? (Reflect.get(target, INJECT) as Token[]) : [];
    own[index] = token;
    Object.defineProperty(target, INJECT, { value: own, configurable: true });
  };
}

/** Returns the dependencies of a class's constructor, in order. */
export function dependenciesOf(target: Token): readonly Dependency[] {
  const declared = (target as Injectable).inject ?? decorated(target);
  if (declared.length < target.length || declared.includes(undefined as never)) {
    throw new OutboxError(
      'MISSING_BINDING',
      `${tokenName(target)} has ${target.length} constructor parameters but does not say what they are; add 'static inject = [TokenA, …] as const', or @Inject(Token) to each`,
    );
  }
  return declared;
}

function decorated(target: Token): readonly Dependency[] {
  // A hole means that a parameter has no decorator; Array.from turns it into undefined.
  return Array.from((Reflect.get(target, INJECT) as Dependency[] | undefined) ?? []);
}
