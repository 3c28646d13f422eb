/** Asks for an instance: an abstract class, a class, or a list of contributions. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` accepts constructors of every parameter list here.
export type Token<T = unknown> = abstract new (...args: any[]) => T;

/** What identifies a token: its name if it has one, so that two copies of a package agree; else the class itself. */
export type TokenKey = symbol | Token;

const NAME = Symbol.for('@postcommit/token');

/** Gives a token a name that is the same in every copy of its package. Call it in a static block. */
export function nameToken(token: Token, name: string): void {
  Object.defineProperty(token, NAME, { value: Symbol.for(name) });
}

export function tokenKey(token: Token): TokenKey {
  // Own property only: a subclass inherits the name but is another token.
  return Object.hasOwn(token, NAME) ? (Reflect.get(token, NAME) as symbol) : token;
}

/** `OutboxStore`, for messages. */
export function tokenName(token: Token): string {
  return token.name || 'an anonymous class';
}
