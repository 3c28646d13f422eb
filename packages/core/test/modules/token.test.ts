import { describe, expect, test } from 'vitest';
import { isPoolToken, Pool } from '../../src/modules/pool.js';
import { nameToken, tokenKey, tokenName } from '../../src/modules/token.js';

describe('tokens', () => {
  test('two classes of the same name are one token, whichever copy they come from', () => {
    class First {}
    class Second {}
    nameToken(First, '@postcommit/test/Same');
    nameToken(Second, '@postcommit/test/Same');
    expect(tokenKey(First)).toBe(tokenKey(Second));
  });

  test('a subclass of a named token is another token', () => {
    class Base {}
    nameToken(Base, '@postcommit/test/Base');
    class Derived extends Base {}
    expect(tokenKey(Derived)).toBe(Derived);
    expect(tokenKey(Derived)).not.toBe(tokenKey(Base));
  });

  test('a class without a name is its own token', () => {
    class Plain {}
    expect(tokenKey(Plain)).toBe(Plain);
  });

  test('a message can name every class', () => {
    expect(tokenName(class Named {})).toBe('Named');
    expect(tokenName((() => class {})())).toBe('an anonymous class');
  });
});

describe('pools', () => {
  test('iterate over what they hold', () => {
    expect([...new Pool([1, 2])]).toEqual([1, 2]);
  });

  test('are recognised with their subclasses, of any copy', () => {
    class Foreign {}
    Object.defineProperty(Foreign, Symbol.for('@postcommit/pool'), { value: true });
    expect([Pool, class extends Pool<number> {}, Foreign, class {}].map(isPoolToken)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
