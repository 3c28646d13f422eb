/** Identifies an instance: an abstract class, a class, or a subclass of `Contributions`. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` accepts constructors of every parameter list here.
export type Token<T = unknown> = abstract new (...args: any[]) => T;

/** Identifies a token: by its name, so that two copies of a package agree, or else by the class itself. */
export type TokenKey = symbol | Token;

const NAME = Symbol.for('@postcommit/token');

/** Names a token, so that it is the same token in every copy of its package. Call it in a static block. */
export function nameToken(token: Token, name: string): void {
  Object.defineProperty(token, NAME, { value: Symbol.for(name) });
}

export function tokenKey(token: Token): TokenKey {
  // Own property only: a subclass inherits the name but is a different token.
  return Object.hasOwn(token, NAME) ? (Reflect.get(token, NAME) as symbol) : token;
}

/** The name for error texts, such as `OutboxStore`. */
export function tokenName(token: Token): string {
  return token.name || 'an anonymous class';
}
