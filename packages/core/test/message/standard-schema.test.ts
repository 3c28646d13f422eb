import { expect, test } from 'vitest';
import {
  type StandardResult,
  type StandardSchema,
  schemaProblem,
} from '../../src/message/standard-schema.js';

function schemaWith(validate: (value: unknown) => StandardResult | Promise<StandardResult>): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

test('a valid value has no problem', async () => {
  expect(
    await schemaProblem(
      schemaWith((value) => ({ value })),
      5,
    ),
  ).toBeUndefined();
});

test('every issue is named with its path', async () => {
  const schema = schemaWith(async () => ({
    issues: [
      { message: 'must be an object' },
      { message: 'too small', path: ['lines', 0, { key: 'amount' }] },
      { message: 'odd', path: [Symbol('tag')] },
    ],
  }));
  expect(await schemaProblem(schema, 5)).toBe(
    'must be an object; lines.0.amount: too small; Symbol(tag): odd',
  );
});

test('a rejection without a message is still a rejection', async () => {
  expect(
    await schemaProblem(
      schemaWith(() => ({ issues: [] })),
      5,
    ),
  ).toBe('the schema rejected it without a message');
  expect(
    await schemaProblem(
      schemaWith(() => ({ issues: [{ message: '' }] })),
      5,
    ),
  ).toBeTruthy();
});
