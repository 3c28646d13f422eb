import type { PublishResult } from '@postcommit/core';
import { absenceOf, errorText } from '@postcommit/core/internal';
import { expect } from 'vitest';

const FULFILLED: PublishResult = { status: 'fulfilled' };

/** The row is delivered. */
export function expectFulfilled(result: PublishResult | undefined, what = 'the row'): void {
  if (result?.status === 'rejected') throw new Error(`${what} was rejected`, { cause: result.reason });
  expect(result?.status, what).toBe('fulfilled');
}

/** Every row of a batch is delivered, and has a result of its own. */
export function expectAllFulfilled(results: readonly PublishResult[], rows: readonly unknown[]): void {
  expect(results, 'the results of a batch').toHaveLength(rows.length);
  for (const [index, result] of results.entries()) expectFulfilled(result, `row ${index}`);
}

/** The row is not delivered. Returns the error. */
export function expectRejected(result: PublishResult | undefined, what = 'the row'): unknown {
  expect(result, `${what} must be rejected`).not.toMatchObject(FULFILLED);
  expect(result?.status, `${what} has no result`).toBe('rejected');
  return result?.status === 'rejected' ? result.reason : undefined;
}

/** The destination is away: the row keeps its attempts. Returns the error. */
export function expectAway(result: PublishResult | undefined, what = 'the row'): unknown {
  const error = expectRejected(result, what);
  expectAbsence(error, what);
  return error;
}

/** The error says that the destination is away. */
export function expectAbsence(error: unknown, what: string): void {
  const problem = `${what}: must be an UnavailableError or a network error, but is: ${errorText(error)}`;
  expect(absenceOf(error), problem).toBeDefined();
}

/** No retry can help the row. Returns the error. */
export function expectPermanent(result: PublishResult | undefined, what = 'the row'): unknown {
  const error = expectRejected(result, what);
  expect(error, `${what}: must be permanent, but is: ${errorText(error)}`).toMatchObject({ permanent: true });
  return error;
}

/** Whether the row was refused for good. If not, it must have been delivered. */
export function isRefused(result: PublishResult | undefined, what: string): boolean {
  if (result?.status === 'rejected') expectPermanent(result, `${what} may be refused, but then it`);
  return result?.status === 'rejected';
}
