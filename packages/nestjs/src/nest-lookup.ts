import type { ModuleRef } from '@nestjs/core';
import { OutboxError, type Token } from '@postcommit/core';

/** Finds a provider of the application, in whatever module it is. */
export type NestLookup = <T>(token: Token<T>) => T;

export function lookupIn(moduleRef: ModuleRef): NestLookup {
  return <T>(token: Token<T>): T => {
    try {
      return moduleRef.get<T>(token as never, { strict: false });
    } catch (error) {
      const advice = `make ${token.name} a singleton provider of a module of the application, or pass an instance`;
      throw new OutboxError('MISSING_BINDING', `OutboxModule was given the class ${token.name}: ${advice}`, {
        cause: error,
      });
    }
  };
}

/**
 * A provider that is looked up when it is first used: while Nest still makes the providers, it would give an instance
 * whose constructor has not run.
 */
export class NestReference<T extends object> {
  readonly #lookup: NestLookup;
  readonly #token: Token<T>;
  #found: T | undefined;

  constructor(lookup: NestLookup, token: Token<T>) {
    this.#lookup = lookup;
    this.#token = token;
  }

  get(): T {
    this.#found ??= this.#lookup(this.#token);
    return this.#found;
  }
}
