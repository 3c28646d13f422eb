import { seededRandom, VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import type { OutboxConfig } from '../../src/dispatch/outbox-config.js';
import { PermanentError, TransientError } from '../../src/message/errors.js';
import type { OutboxEntry, OutboxRow } from '../../src/message/outbox-row.js';
import type { DelayBackoff, RetryOptions } from '../../src/message/retry-options.js';
import { backoffDelayMs } from '../../src/message/retry-policy.js';
import { errorFromResponse } from '../../src/publish/error-from-response.js';
import { entries, openOutbox, scripted } from '../outbox-fixture.js';

/** The documents are named by the number of their file in the specification. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NOTHING = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };

interface Life {
  /** The waits between the tries. */
  readonly waits: number[];
  readonly row: OutboxRow;
  readonly tries: number;
}

/** Fails a row until it is dead, and proves that each try comes when its wait is over and not a millisecond before. */
async function lifeOf(
  config: Partial<OutboxConfig>,
  retry?: RetryOptions,
  error: () => unknown = () => new Error('no'),
): Promise<Life> {
  const { store, dispatcher, clock, row } = openOutbox();
  const [entry] = entries('x1') as [OutboxEntry];
  await store.enqueue({ ...entry, ...(retry && { retry }) });
  let tries = 0;
  const outbox = dispatcher(async () => {
    tries += 1;
    throw error();
  }, config);
  const waits: number[] = [];
  await outbox.dispatchPending();
  for (let current = await row('x1'); !current.deadAt && waits.length < 50; current = await row('x1')) {
    const waitMs = current.availableAt.getTime() - clock.now();
    waits.push(waitMs);
    if (waitMs > 0) {
      await clock.advance(waitMs - 1);
      expect(await outbox.dispatchPending()).toEqual(NOTHING);
      await clock.advance(1);
    }
    await outbox.dispatchPending();
  }
  return { waits, row: await row('x1'), tries };
}

describe('document 000', () => {
  const exponential = { type: 'exponential', delayMs: 1_000 } as const;

  test('the delay doubles: 1, 2, 4, 8 s, and the row dies at the fifth failure', async () => {
    const { waits, row, tries } = await lifeOf({ maxAttempts: 5, backoff: exponential });
    expect(waits).toEqual([1 * SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND]);
    expect(tries).toBe(5);
    expect(row).toMatchObject({ attempts: 5, deadReason: 'exhausted', lastError: 'no' });
  });

  test('the delay of 16 s in its table takes one more attempt', async () => {
    const { waits } = await lifeOf({ maxAttempts: 6, backoff: exponential });
    expect(waits).toEqual([1, 2, 4, 8, 16].map((seconds) => seconds * SECOND));
  });

  test.each([1, 2, 3, 4, 5])('delay = initialDelay * 2^(retry_count - 1) after failure %i', (failures) => {
    expect(backoffDelayMs(exponential, failures, Math.random)).toBe(1_000 * 2 ** (failures - 1));
  });

  test('fixed: the delay is the same after every failure', async () => {
    const { waits } = await lifeOf({ maxAttempts: 5, backoff: { type: 'fixed', delayMs: 1_000 } });
    expect(waits).toEqual([SECOND, SECOND, SECOND, SECOND]);
  });

  test('the policy is stored with each row: a change of the configuration does not touch rows in flight', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    const retry = { maxAttempts: 3, backoff: { type: 'fixed', delayMs: 5_000 } } as const;
    const [frozen, free] = entries('x1', 'x2') as [OutboxEntry, OutboxEntry];
    await store.enqueue([{ ...frozen, retry }, free]);
    const failing = scripted({ x1: new Error('no'), x2: new Error('no') });
    await dispatcher(failing, { maxAttempts: 100, backoff: exponential }).dispatchPending();
    expect((await row('x1')).availableAt).toEqual(new Date(clock.now() + 5_000));
    expect((await row('x2')).availableAt).toEqual(new Date(clock.now() + 1_000));
    const redeployed = dispatcher(failing, { maxAttempts: 2, backoff: { type: 'fixed', delayMs: 60_000 } });
    await clock.advance(5_000);
    await redeployed.dispatchPending();
    expect(await row('x2')).toMatchObject({ attempts: 2, deadReason: 'exhausted' });
    expect(await row('x1')).toMatchObject({ attempts: 2, retry });
    expect((await row('x1')).availableAt).toEqual(new Date(clock.now() + 5_000));
    await clock.advance(5_000);
    await redeployed.dispatchPending();
    expect(await row('x1')).toMatchObject({ attempts: 3, deadReason: 'exhausted' });
  });

  test.each<[string, RetryOptions, number[]]>([
    ['only the tries', { maxAttempts: 3 }, [1_000, 2_000]],
    ['only the backoff', { backoff: { type: 'fixed', delayMs: 7 } }, [7, 7, 7]],
    ['nothing', {}, [1_000, 2_000, 4_000]],
  ])('a row that stores %s follows the configuration for the rest', async (_name, retry, waits) => {
    expect((await lifeOf({ maxAttempts: 4, backoff: exponential }, retry)).waits).toEqual(waits);
  });

  test('an unsettled claim is taken over after five minutes', async () => {
    const { store, clock, dispatcher } = openOutbox();
    await store.enqueue(entries('x1'));
    await store.fetchPending(1);
    const publisher = scripted();
    await clock.advance(5 * MINUTE - 1);
    expect(await dispatcher(publisher).dispatchPending()).toEqual(NOTHING);
    await clock.advance(1);
    expect(await dispatcher(publisher).dispatchPending()).toMatchObject({ dispatched: 1 });
  });

  test('a failed event that is reset is pending, without attempts and error', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1'));
    await dispatcher(scripted({ x1: new Error('no') }), { maxAttempts: 1 }).dispatchPending();
    await store.requeue('x1');
    const reset = await row('x1');
    expect(reset).toMatchObject({ attempts: 0 });
    for (const gone of ['lastError', 'deadAt', 'deadReason', 'claimToken'])
      expect(reset).not.toHaveProperty(gone);
    expect(await dispatcher(scripted()).dispatchPending()).toMatchObject({ dispatched: 1 });
  });
});

describe('document 003', () => {
  const capMs = 30_000;

  test('exponential backoff: 1, 2, 4, 8 s', async () => {
    const backoff = { type: 'exponential', delayMs: 1_000 } as const;
    expect((await lifeOf({ maxAttempts: 5, backoff })).waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  test('its queue of five attempts from 2 s: 2, 4, 8, 16 s', async () => {
    const retry = { maxAttempts: 5, backoff: { type: 'exponential', delayMs: 2_000 } } as const;
    expect((await lifeOf({}, retry)).waits).toEqual([2_000, 4_000, 8_000, 16_000]);
  });

  test('no wait is longer than the cap', async () => {
    const backoff = { type: 'exponential', delayMs: 1_000, maxDelayMs: capMs } as const;
    const { waits } = await lifeOf({ maxAttempts: 9, backoff });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  const full: DelayBackoff = { type: 'exponential', delayMs: 1_000, maxDelayMs: capMs, jitter: 'full' };
  const decorrelated: DelayBackoff = { ...full, jitter: 'decorrelated' };

  test('full jitter is between 0 and the capped delay, over a thousand seeds', () => {
    for (const failures of [1, 2, 3, 4, 5, 6, 10]) {
      const longestMs = Math.min(1_000 * 2 ** (failures - 1), capMs);
      const waits = Array.from({ length: 1_000 }, (_, seed) =>
        backoffDelayMs(full, failures, seededRandom(seed)),
      );
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs);
      // Spread over the whole range: a thousand rows that failed together do not come back together.
      expect(Math.min(...waits)).toBeLessThan(longestMs * 0.05);
      expect(Math.max(...waits)).toBeGreaterThan(longestMs * 0.95);
    }
  });

  test('decorrelated jitter is between the base and three times the previous delay, over a thousand seeds', () => {
    for (const failures of [1, 2, 3, 4, 5, 6, 10, 100]) {
      const longestMs = Math.min(1_000 * 3 ** failures, capMs);
      const waits = Array.from({ length: 1_000 }, (_, seed) =>
        backoffDelayMs(decorrelated, failures, seededRandom(seed)),
      );
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(1_000);
      expect(Math.max(...waits)).toBeLessThanOrEqual(longestMs);
    }
  });

  test('decorrelated jitter is the chain of the document', () => {
    function document(attempt: number, random: () => number): number {
      const previousMs = attempt === 1 ? 1_000 : document(attempt - 1, random);
      return Math.min(capMs, random() * (previousMs * 3 - 1_000) + 1_000);
    }
    for (let seed = 0; seed < 200; seed++) {
      for (const attempt of [1, 2, 3, 5, 8]) {
        expect(backoffDelayMs(decorrelated, attempt, seededRandom(seed))).toBe(
          document(attempt, seededRandom(seed)),
        );
      }
    }
  });

  test.each([
    ['full', full],
    ['decorrelated', decorrelated],
  ])('%s jitter decides when the dispatcher retries', async (_name, backoff) => {
    for (let seed = 0; seed < 10; seed++) {
      const random = seededRandom(seed);
      const expected = [1, 2, 3, 4].map((failures) => Math.round(backoffDelayMs(backoff, failures, random)));
      const { store, dispatcher, clock, row } = openOutbox();
      await store.enqueue(entries('x1'));
      const outbox = dispatcher(scripted({ x1: new Error('no') }), { backoff, random: seededRandom(seed) });
      for (const waitMs of expected) {
        await outbox.dispatchPending();
        expect((await row('x1')).availableAt.getTime() - clock.now()).toBe(waitMs);
        await clock.advance(waitMs);
      }
    }
  });

  test.each([
    ['longer than the backoff: it wins', 20_000, 20_000],
    ['shorter than the backoff: the backoff wins', 500, 1_000],
    ['longer than the cap: it wins', 120_000, 120_000],
  ])('a Retry-After that is %s', async (_name, retryAfterMs, waitMs) => {
    const backoff = { type: 'exponential', delayMs: 1_000, maxDelayMs: capMs } as const;
    const error = (): Error => new TransientError('Rate limited', retryAfterMs);
    const { waits } = await lifeOf({ maxAttempts: 2, backoff }, undefined, error);
    expect(waits).toEqual([waitMs]);
  });

  test('its own strategy, which respects Retry-After, can be written as a function', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    const failures = { x1: Object.assign(new Error('Rate limited'), { retryAfter: 7 }), x2: new Error('no') };
    await dispatcher(scripted(failures), {
      backoff: (attempts, error) => {
        const { retryAfter } = error as { retryAfter?: number };
        return retryAfter ? retryAfter * 1_000 : Math.min(30_000, 2_000 * 2 ** attempts);
      },
    }).dispatchPending();
    expect((await row('x1')).availableAt.getTime() - clock.now()).toBe(7_000);
    expect((await row('x2')).availableAt.getTime() - clock.now()).toBe(4_000);
  });

  /** What its webhook does with an answer, through a real dispatcher. */
  async function answered(status: number, headers: Record<string, string> = {}): Promise<unknown> {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const outbox = dispatcher(
      async () => {
        throw await errorFromResponse(new Response(status < 200 ? null : 'the body', { status, headers }));
      },
      { backoff: { type: 'fixed', delayMs: 1_000 } },
    );
    await outbox.dispatchPending();
    const { attempts, deadReason, lastError, availableAt } = await row('x1');
    return deadReason ? [deadReason, lastError] : [availableAt.getTime() - clock.now(), attempts];
  }

  test.each([
    // What is not about the message costs no attempt. A departure from the document, see docs/decisions/names.md.
    [400, {}, ['permanent', 'Bad request: the body']],
    [429, {}, [60_000, 0]],
    [429, { 'retry-after': '7' }, [7_000, 0]],
    [429, { 'retry-after': '0' }, [500, 0]],
    [500, {}, [500, 0]],
    [502, {}, [500, 0]],
    [503, { 'retry-after': '9' }, [9_000, 0]],
    [599, {}, [500, 0]],
    [401, {}, [500, 0]],
    [404, {}, [500, 0]],
    [409, {}, ['permanent', 'Unexpected status: 409']],
    [422, {}, ['permanent', 'Unexpected status: 422']],
  ])('an answer of %i with headers %j', async (status, headers, outcome) => {
    expect(await answered(status, headers)).toEqual(outcome);
  });

  test('errors are distinguished by their fields, whatever their class', async () => {
    class PermanentErrorOfTheDocument extends Error {
      readonly permanent = true;
    }
    class TransientErrorOfTheDocument extends Error {
      readonly permanent = false;
      readonly retryAfterMs = 4_000;
    }
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1', 'x2'));
    await dispatcher(
      scripted({ x1: new PermanentErrorOfTheDocument('no'), x2: new TransientErrorOfTheDocument('later') }),
    ).dispatchPending();
    expect(await row('x1')).toMatchObject({ deadReason: 'permanent' });
    expect((await row('x2')).availableAt.getTime() - clock.now()).toBe(4_000);
  });

  test('a permanent failure is dead at the first attempt, however many are left', async () => {
    const { waits, tries, row } = await lifeOf(
      { maxAttempts: 10 },
      undefined,
      () => new PermanentError('no'),
    );
    expect({ waits, tries }).toEqual({ waits: [], tries: 1 });
    expect(row).toMatchObject({ deadReason: 'permanent', attempts: 1 });
  });

  test('the id is the same at every attempt: it is the idempotency key', async () => {
    const { store, dispatcher } = openOutbox();
    const [id] = await store.enqueue({ topic: 'order.paid', payload: {} });
    const seen: string[] = [];
    const outbox = dispatcher(async (row) => {
      seen.push(row.id);
      throw new Error('no');
    });
    for (let round = 0; round < 3; round++) await outbox.dispatchPending();
    expect(seen).toEqual([id, id, id]);
  });
});

describe('document 004', () => {
  const defaults = { maxAttempts: 5, backoff: { type: 'exponential', delayMs: 30_000 } } as const;

  test('the default schedule: 30 s, 1, 2, 4 min, in five attempts', async () => {
    const { waits, tries } = await lifeOf({}, defaults);
    expect(waits).toEqual([30 * SECOND, 1 * MINUTE, 2 * MINUTE, 4 * MINUTE]);
    expect(tries).toBe(5);
  });

  test('the delay of 8 min that it names takes one more attempt', async () => {
    const { waits } = await lifeOf({}, { ...defaults, maxAttempts: 6 });
    expect(waits.at(-1)).toBe(8 * MINUTE);
  });

  test('the override of one message: three attempts, 10 s apart', async () => {
    const retry = { maxAttempts: 3, backoff: { type: 'fixed', delayMs: 10_000 } } as const;
    const { waits, row } = await lifeOf(defaults, retry);
    expect(waits).toEqual([10_000, 10_000]);
    expect(row).toMatchObject({ attempts: 3, deadReason: 'exhausted', lastError: 'no' });
  });

  test('the attempt that a listener sees counts up from 1', async () => {
    const { store, dispatcher, clock } = openOutbox();
    const [entry] = entries('x1') as [OutboxEntry];
    await store.enqueue({ ...entry, retry: defaults });
    const seen: number[] = [];
    const outbox = dispatcher(async (_row, { attempt }) => {
      seen.push(attempt);
      if (attempt < 4) throw new Error('no');
    });
    for (const waitMs of [0, 30_000, 60_000, 120_000]) {
      await clock.advance(waitMs);
      await outbox.dispatchPending();
    }
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(await store.count()).toMatchObject({ dispatched: 1 });
  });

  test('a message cancelled between attempts is not attempted again', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const publisher = scripted({ x1: new Error('no') });
    const outbox = dispatcher(publisher, defaults);
    await outbox.dispatchPending();
    expect(await store.cancel('x1')).toBe('cancelled');
    await clock.advance(60 * MINUTE);
    expect(await outbox.dispatchPending()).toEqual(NOTHING);
    expect(publisher.published).toHaveLength(1);
    expect(await row('x1')).toMatchObject({ deadReason: 'cancelled', attempts: 1 });
  });

  test('a message cancelled during its last attempt stays cancelled', async () => {
    const { store, dispatcher, row } = openOutbox();
    await store.enqueue(entries('x1'));
    const summary = await dispatcher(async () => {
      expect(await store.cancel('x1')).toBe('may-still-be-published');
    }).dispatchPending();
    expect(summary).toMatchObject({ dispatched: 0, fenced: 1 });
    expect(await row('x1')).toMatchObject({ deadReason: 'cancelled' });
  });
});

describe('a row that crashes its process at every attempt', () => {
  test('ends dead: crashed, and the other forty-nine of its batch are delivered', async () => {
    const claimTimeoutMs = 5 * MINUTE;
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs });
    await store.enqueue(entries(...Array.from({ length: 50 }, (_, index) => `x${index + 1}`)));
    const tries = new Map<string, number>();
    let isDead = false;
    const publish = async ({ id }: OutboxRow): Promise<void> => {
      tries.set(id, (tries.get(id) ?? 0) + 1);
      if (id !== 'x25') return;
      isDead = true;
      await new Promise(() => {});
    };
    for (let restart = 0; restart < 100 && (await store.count()).pending > 0; restart++) {
      isDead = false;
      // Each process has a clock of its own. That of a dead one stands still: no heartbeat, no time-out, no settle.
      const batch = dispatcher(publish, { clock: new VirtualClock() }).dispatchPending();
      await clock.idle();
      if (isDead) await clock.advance(claimTimeoutMs);
      else await batch;
    }
    expect(await store.count()).toEqual({ pending: 0, dispatched: 49, dead: 1, total: 50 });
    expect(await row('x25')).toMatchObject({
      attempts: 0,
      deadReason: 'crashed',
      lastError: 'its claim expired 5 times in a row; it may be crashing the process that publishes it',
    });
    expect(tries.get('x25')).toBe(5);
    // What was published beside it in the first crash is published once more, and not again.
    for (const [id, count] of tries) if (id !== 'x25') expect(count).toBeLessThanOrEqual(2);
  });

  test('a row that survives in the end is not blamed: its count starts over', async () => {
    const { store, dispatcher, clock, row } = openOutbox({ claimTimeoutMs: 60_000 });
    await store.enqueue(entries('x1'));
    for (let crash = 0; crash < 4; crash++) {
      await store.fetchPending(1);
      await clock.advance(60_000);
    }
    await dispatcher(scripted({ x1: new Error('no') })).dispatchPending();
    expect(await row('x1')).toMatchObject({ attempts: 1, retakes: 0 });
  });
});
