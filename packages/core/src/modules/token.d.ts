/** Asks for an instance: an abstract class, a class, or a pool. */
export type Token<T = unknown> = abstract new (...args: any[]) => T;
/** What identifies a token: its name if it has one, so that two copies of a package agree; else the class itself. */
export type TokenKey = symbol | Token;
/** Gives a token a name that is the same in every copy of its package. Call it in a static block. */
export declare function nameToken(token: Token, name: string): void;
export declare function tokenKey(token: Token): TokenKey;
/** `OutboxStore`, for messages. */
export declare function tokenName(token: Token): string;
