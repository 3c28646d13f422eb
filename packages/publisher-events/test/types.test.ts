import { describe, expect, test } from 'vitest';
import { problemsOf } from './types/compile.js';

const patience = { timeout: 60_000 };

describe.each(['standard', 'legacy'] as const)('with %s decorators, the types serve', (decorators) => {
  test("the specification's sample", patience, () => {
    expect(problemsOf('order-projector.ts', decorators)).toEqual([]);
  });

  test('applications without topics', patience, () => {
    expect(problemsOf('listeners.ts', decorators)).toEqual([]);
  });

  test('applications with topics', patience, () => {
    expect(problemsOf('topics.ts', decorators)).toEqual([]);
  });
});

test('with legacy decorators a listener takes its dependencies by @Inject', patience, () => {
  expect(problemsOf('injected.ts', 'legacy')).toEqual([]);
});

test('the check itself reports what does not compile, and what compiles but should not', patience, () => {
  const text = [
    "import { OutboxEvent, onEvent } from '@postcommit/publisher-events';",
    "export const wrong = onEvent(OutboxEvent, 1, { name: 'a' });",
    '// @ts-expect-error: lost',
    "export const right = onEvent(OutboxEvent, () => {}, { name: 'a' });",
  ];
  expect(problemsOf('check.ts', 'standard', text.join('\n'))).toEqual([
    '4 should not compile: lost',
    expect.stringContaining("2 TS2345: Argument of type 'number' is not assignable"),
  ]);
});

test('the two really are different: there are no standard decorators for parameters', patience, () => {
  expect(problemsOf('injected.ts', 'standard').join()).toContain('Decorators are not valid here');
});
