import {
  MultipleErrors,
  NetworkError,
  ProtocolError,
  ResponseError,
  TimeoutError,
} from '@platformatic/kafka';
import { describe, expect, it } from 'vitest';
import { placeOf } from '../src/placed-row.js';
import { outcomesOf } from '../src/send-outcomes.js';

const PLACE = placeOf({ topic: 'orders', partition: 0 });
const OTHER = placeOf({ topic: 'orders', partition: 1 });

/** The error of a send whose one broker answers for both partitions. */
function answered(first: number, second: number): Error {
  const response = {
    responses: [
      {
        name: 'orders',
        partitionResponses: [
          { index: 0, errorCode: first },
          { index: 1, errorCode: second },
        ],
      },
    ],
  };
  const errors = [first, second].flatMap((code, index) =>
    code === 0
      ? []
      : [[`/responses/0/partition_responses/${index}`, [code, null] as [number, null]] as const],
  );
  return sending(new ResponseError(0, 7, Object.fromEntries(errors), response));
}

function sending(...errors: readonly Error[]): Error {
  return Object.assign(new MultipleErrors('Producing messages failed.', [...errors]), {
    produced: { offsets: [] },
  });
}

function reasonOf(error: unknown): unknown {
  const outcome = outcomesOf(error, new Set([PLACE])).get(PLACE);
  return outcome?.kind === 'stored' ? undefined : outcome?.reason;
}

const KINDS: Readonly<Record<string, string>> = {
  MESSAGE_TOO_LARGE: 'refused',
  RECORD_LIST_TOO_LARGE: 'refused',
  INVALID_RECORD: 'refused',
  UNKNOWN_TOPIC_OR_PARTITION: 'unavailable',
  TOPIC_AUTHORIZATION_FAILED: 'unavailable',
  CLUSTER_AUTHORIZATION_FAILED: 'certain',
  NOT_ENOUGH_REPLICAS: 'unavailable',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'unavailable',
  NOT_LEADER_OR_FOLLOWER: 'unavailable',
  REQUEST_TIMED_OUT: 'unavailable',
  THROTTLING_QUOTA_EXCEEDED: 'unavailable',
  KAFKA_STORAGE_ERROR: 'unavailable',
  INVALID_TOPIC_EXCEPTION: 'permanent',
  POLICY_VIOLATION: 'transient',
  UNKNOWN_SERVER_ERROR: 'transient',
};

describe('outcomes of a send that failed', () => {
  it.each(Object.entries(KINDS))('%s is %s', (name, kind) => {
    const { apiCode } = new ProtocolError(name) as unknown as { apiCode: number };
    const outcome = outcomesOf(answered(apiCode, 0), new Set([PLACE])).get(PLACE);
    if (outcome?.kind !== 'failed') {
      expect(outcome?.kind).toBe(kind);
      return;
    }
    const { permanent, unavailable = false, isCertain = false } = outcome.reason as Record<string, unknown>;
    const found = unavailable
      ? isCertain
        ? 'certain'
        : 'unavailable'
      : permanent
        ? 'permanent'
        : 'transient';
    expect(found).toBe(kind);
  });

  it('knows what the broker that refused one partition has stored in another', () => {
    const outcomes = outcomesOf(answered(19, 0), new Set([PLACE, OTHER]));
    expect([outcomes.get(PLACE)?.kind, outcomes.get(OTHER)?.kind]).toEqual(['failed', 'stored']);
  });

  it('knows what other brokers have stored', () => {
    const error = Object.assign(sending(new NetworkError('Connection closed')), {
      produced: { offsets: [{ topic: 'orders', partition: 1 }] },
    });
    const outcomes = outcomesOf(error, new Set([PLACE, OTHER]));
    expect([outcomes.get(PLACE)?.kind, outcomes.get(OTHER)?.kind]).toEqual(['failed', 'stored']);
  });

  it('reads the errors of retries', () => {
    const retried = new MultipleErrors('produce failed 3 times.', [
      new TimeoutError('late'),
      answered(19, 19),
    ]);
    expect(reasonOf(sending(retried))).toMatchObject({ unavailable: true });
  });

  it.each([
    new NetworkError('Connection closed'),
    new TimeoutError('Request timed out'),
    new NetworkError('Connection failed', {
      cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    }),
  ])('%s is unavailable, but not certain: other brokers may answer', (error) => {
    expect(reasonOf(sending(error))).toMatchObject({
      unavailable: true,
      isCertain: false,
      cause: expect.anything(),
    });
  });

  it('reads an error that refers to itself', () => {
    const error = new Error('odd') as Error & { cause: unknown };
    error.cause = error;
    expect(reasonOf(error)).toMatchObject({ name: 'TransientError' });
  });
});
