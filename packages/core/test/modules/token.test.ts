import { describe, expect, test } from 'vitest';
import { Contributions, isContributionsToken } from '../../src/modules/contributions.js';
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

describe('contributions', () => {
  test('can be iterated', () => {
    expect([...new Contributions([1, 2])]).toEqual([1, 2]);
  });

  test('are recognized with their subclasses, of any copy', () => {
    class Foreign {}
    Object.defineProperty(Foreign, Symbol.for('@postcommit/contributions'), { value: true });
    expect(
      [Contributions, class extends Contributions<number> {}, Foreign, class {}].map(isContributionsToken),
    ).toEqual([true, true, true, false]);
  });
});
