import type { ModuleRef } from '@nestjs/core';
import { OutboxError, type Token } from '@postcommit/core';

/** Returns a provider of the application, from whichever module has it. */
export type NestLookup = <T>(token: Token<T>) => T;

export function lookupIn(moduleRef: ModuleRef): NestLookup {
  return <T>(token: Token<T>): T => {
    try {
      return moduleRef.get<T>(token as never, { strict: false });
    } catch (error) {
      const advice = 'provide it in a module of the application, or pass an instance';
      const problem = `OutboxModule: no singleton provider for the class ${token.name}; ${advice}`;
      throw new OutboxError('MISSING_BINDING', problem, { cause: error });
    }
  };
}

/**
 * A provider that is looked up on first use. While Nest is still creating providers, a lookup would return an instance
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
