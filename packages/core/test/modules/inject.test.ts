import { describe, expect, test } from 'vitest';
import { dependenciesOf, Inject, Injectable } from '../../src/modules/inject.js';
import { optional } from '../../src/modules/module.js';
import { refusal } from '../outbox-fixture.js';

class A {}
class B {}

describe('the dependencies of a constructor', () => {
  test('can be declared by static inject', () => {
    class Service {
      static readonly inject = [A, B] as const;
      readonly parts: unknown[];
      constructor(a: A, b: B) {
        this.parts = [a, b];
      }
    }
    expect(dependenciesOf(Service)).toEqual([A, B]);
  });

  test('can be declared by @Inject on each parameter', () => {
    class Service {
      readonly parts: unknown[];
      constructor(a: A, b: B) {
        this.parts = [a, b];
      }
    }
    // Decorators of parameters run from the last to the first.
    Inject(B)(Service, undefined, 1);
    Inject(A)(Service, undefined, 0);
    expect(dependenciesOf(Service)).toEqual([A, B]);
  });

  test('are empty for a constructor without parameters', () => {
    expect(dependenciesOf(A)).toEqual([]);
  });

  test('can be optional', () => {
    class Service {
      static readonly inject = [optional(A)];
      readonly part: A | undefined;
      constructor(part?: A) {
        this.part = part;
      }
    }
    expect(dependenciesOf(Service)).toEqual([{ optional: A }]);
  });

  test('are inherited, and a subclass does not change those of its parent', () => {
    class Parent {
      readonly part: unknown;
      constructor(part: unknown) {
        this.part = part;
      }
    }
    Inject(A)(Parent, undefined, 0);
    class Silent extends Parent {}
    class Other extends Parent {}
    Inject(B)(Other, undefined, 0);
    expect([Parent, Silent, Other].map(dependenciesOf)).toEqual([[A], [A], [B]]);
  });

  test('must be declared for every parameter', () => {
    class Forgotten {
      readonly parts: unknown[];
      constructor(a: A, b: B) {
        this.parts = [a, b];
      }
    }
    const message = 'Forgotten has 2 constructor parameters but does not say what they are';
    expect(() => dependenciesOf(Forgotten)).toThrow(refusal('MISSING_BINDING', message));
    Inject(B)(Forgotten, undefined, 1);
    expect(() => dependenciesOf(Forgotten)).toThrow(refusal('MISSING_BINDING', message));
    Inject(A)(Forgotten, undefined, 0);
    expect(dependenciesOf(Forgotten)).toEqual([A, B]);
  });

  test('can’t be declared on methods', () => {
    expect(() => Inject(A)(class {}, 'send', 0)).toThrow(
      refusal('INVALID_CONFIG', '@Inject belongs on constructor parameters, not on send'),
    );
  });
});

test('@Injectable only marks', () => {
  expect(Injectable()(A)).toBeUndefined();
});
