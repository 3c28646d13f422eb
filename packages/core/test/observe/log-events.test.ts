import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { logEvents } from '../../src/observe/log-events.js';
import { rowWith } from '../outbox-fixture.js';

function open(): { clock: VirtualClock; events: DispatchEvents; lines: string[] } {
  const lines: string[] = [];
  const log =
    (level: string) =>
    (message: string): void =>
      void lines.push(`${level}: ${message}`);
  const clock = new VirtualClock();
  const events = new DispatchEvents();
  logEvents(events, { info: log('info'), warn: log('warn'), error: log('error') }, clock);
  return { clock, events, lines };
}

const failed = (topic: string) => ({ row: rowWith({ id: 'a', topic }), error: 'no', delayMs: 5 });

describe('logEvents', () => {
  test('writes a line of one kind at most once a minute, and says how many were left out', async () => {
    const { clock, events, lines } = open();
    for (let time = 0; time < 4; time++) events.emit('failed', failed('order.paid'));
    events.emit('failed', failed('mail.sent'));
    await clock.advance(60_000);
    events.emit('failed', failed('order.paid'));
    expect(lines).toEqual([
      'warn: row a of topic "order.paid" failed, next try in 5 ms: "no"',
      'warn: row a of topic "mail.sent" failed, next try in 5 ms: "no"',
      'warn: row a of topic "order.paid" failed, next try in 5 ms: "no" (3 more like this since the last line)',
    ]);
  });

  test('reports a takeover, a lost database and its return, and why it polls', () => {
    const { events, lines } = open();
    events.emit('retaken', { row: rowWith({ id: 'a', topic: 't' }) });
    events.emit('trouble', { error: new Error('ECONNREFUSED'), retryInMs: 100 });
    events.emit('recovered', { afterMs: 1_234 });
    events.emit('wakeup', { isListening: true, pollIntervalMs: 1_000 });
    events.emit('wakeup', {
      isListening: false,
      pollIntervalMs: 1_000,
      error: new Error('no direct connection'),
      willRetry: true,
    });
    events.emit('wakeup', { isListening: true, pollIntervalMs: 1_000 });
    expect(lines).toEqual([
      'warn: took over row a of topic "t": the process that had claimed it died or stalled',
      'error: the database does not answer, retrying: "ECONNREFUSED"',
      'info: the database answers again after 1234 ms',
      'warn: polls every 1000 ms, because listening failed: "no direct connection"',
      'info: listens for rows of other processes again',
    ]);
  });

  test('says at what pace it polls where nothing can be listened to', () => {
    const { events, lines } = open();
    events.emit('wakeup', { isListening: false, pollIntervalMs: 500 });
    expect(lines).toEqual(['info: polls every 500 ms; rows of other processes wait for the next poll']);
  });

  test('reports a blocked event loop, at most once a minute', async () => {
    const { clock, events, lines } = open();
    events.emit('eventLoopBlocked', { ms: 1_500 });
    events.emit('eventLoopBlocked', { ms: 1_200 });
    await clock.advance(60_000);
    events.emit('eventLoopBlocked', { ms: 9_000 });
    expect(lines).toEqual([
      'warn: the event loop was blocked for 1500 ms, so nothing was published',
      'warn: the event loop was blocked for 9000 ms, so nothing was published (1 more like this since the last line)',
    ]);
  });

  test('masks secrets in the errors that it writes', () => {
    const { events, lines } = open();
    const error = new Error('connect postgres://app:hunter2@db failed');
    events.emit('trouble', { error, retryInMs: 100 });
    events.emit('storeProblem', { error });
    events.emit('wakeup', { isListening: false, pollIntervalMs: 1_000, error, willRetry: false });
    events.emit('unavailable', { destination: 'mail', error, nextTryInMs: 5 });
    expect(lines).toEqual([
      'error: the database does not answer, retrying: "connect postgres://***@db failed"',
      'warn: the store reports a problem: "connect postgres://***@db failed"',
      'warn: polls every 1000 ms, because listening failed: "connect postgres://***@db failed"',
      'error: destination "mail" is away, next try in 5 ms: "connect postgres://***@db failed"',
    ]);
  });

  test('cannot be made to forge a line', () => {
    const { events, lines } = open();
    events.emit('failed', failed('a\nerror: forged'));
    expect(lines[0]?.split('\n')).toHaveLength(1);
  });
});
