import { OutboxStore } from '@postcommit/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CommandLine } from './command-line.js';

/** What operators do to rows, with an application in memory. */
let line: CommandLine;

beforeEach(() => {
  line = new CommandLine();
});

afterEach(() => {
  vi.useRealTimers();
});

const store = (): OutboxStore => line.app.get(OutboxStore);

async function enqueue(...ids: string[]): Promise<void> {
  await store().enqueue(ids.map((id) => ({ id, topic: 'order.paid', payload: 1 })));
}

async function dead(...ids: string[]): Promise<void> {
  await enqueue(...ids);
  for (const id of ids) await store().markDead(id, '502');
}

const firstWords = (stdout: string): string[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((text) => text.split(' ')[0] ?? '');

describe('outbox:cancel', () => {
  it('cancels an unclaimed row', async () => {
    await enqueue('abc123', 'b');
    expect(await line.run('outbox:cancel', 'abc123')).toEqual({
      code: 0,
      stdout: 'outbox:cancel id=abc123 cancelled\n',
      stderr: '',
    });
    expect((await line.run('outbox:cancel', 'b', '--json')).stdout).toBe('{"id":"b","result":"cancelled"}\n');
    expect(await store().count()).toMatchObject({ pending: 0, dead: 2 });
  });

  it('reports that a row in a batch may still be published', async () => {
    await enqueue('a', 'b');
    await store().fetchPending(2);
    expect(await line.run('outbox:cancel', 'a')).toEqual({
      code: 0,
      stdout: 'outbox:cancel id=a may-still-be-published\n',
      stderr: '',
    });
    expect((await line.run('outbox:cancel', 'b', '--json')).stdout).toBe(
      '{"id":"b","result":"may-still-be-published"}\n',
    );
  });

  it('fails for a row that is not pending, in one line', async () => {
    await dead('d');
    for (const id of ['d', 'unknown']) {
      expect(await line.run('outbox:cancel', id)).toEqual({
        code: 1,
        stdout: '',
        stderr: `outbox:cancel: no pending row with id '${id}'\n`,
      });
    }
    expect(await line.run('outbox:cancel')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('a dry run', () => {
  it('of a retry lists the rows that it would requeue, oldest first, and counts the matches', async () => {
    await dead('c', 'a', 'd', 'b', 'e');
    await enqueue('x');
    await store().cancel('x');
    const dry = ['outbox:retry', '--topic', 'order.paid', '--limit', '3', '--dry-run'];
    const { code, stdout } = await line.run(...dry);
    expect(code).toBe(0);
    expect(firstWords(stdout)).toEqual(['c', 'a', 'd', 'outbox:retry']);
    expect(stdout).toMatch(/\noutbox:retry wouldRequeue=3 matching=5\n$/);
    const json = JSON.parse((await line.run(...dry, '--json')).stdout);
    expect(json).toMatchObject({
      wouldRequeue: 3,
      matching: 5,
      rows: [{ id: 'c' }, { id: 'a' }, { id: 'd' }],
    });
    expect(await store().count()).toMatchObject({ dead: 6 });
    await line.run(...dry.slice(0, -1));
    const requeued = await store().peek({ state: 'pending' }, 10);
    expect(requeued.map(({ id }) => id).sort(), 'it takes those').toEqual(['a', 'c', 'd']);
  });

  it('of a retry omits cancelled rows unless they are requested', async () => {
    await enqueue('a');
    await store().cancel('a');
    expect((await line.run('outbox:retry', '--topic', 'order.paid', '--dry-run')).stdout).toBe(
      'outbox:retry wouldRequeue=0 matching=0\n',
    );
    const asked = await line.run('outbox:retry', '--reason', 'cancelled', '--dry-run');
    expect(firstWords(asked.stdout)).toEqual(['a', 'outbox:retry']);
  });

  it('of a discard lists the rows that it would delete, and counts the matches', async () => {
    await dead('a', 'b', 'c');
    const dry = ['outbox:discard', '--error', '502', '--limit', '2', '--dry-run'];
    const { stdout } = await line.run(...dry);
    expect(firstWords(stdout)).toEqual(['c', 'b', 'outbox:discard']);
    expect(stdout).toMatch(/\noutbox:discard wouldDiscard=2 matching=3\n$/);
    await line.run(...dry.slice(0, -1));
    expect((await store().peek({}, 10)).map(({ id }) => id)).toEqual(['a']);
  });

  it('of a purge of dead rows counts them', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await dead('a', 'b');
    vi.setSystemTime(Date.now() + 1_000);
    expect((await line.run('outbox:purge', '--dead', '--older-than', '1d', '--dry-run')).stdout).toBe(
      'outbox:purge wouldPurge=0\n',
    );
    const all = ['outbox:purge', '--dead', '--older-than', '0s', '--dry-run'];
    expect((await line.run(...all)).stdout).toBe('outbox:purge wouldPurge=2\n');
    expect((await line.run(...all, '--json')).stdout).toBe('{"wouldPurge":2}\n');
    expect(await store().count()).toMatchObject({ dead: 2 });
    expect(await line.run('outbox:purge', '--older-than', '1d', '--dry-run')).toMatchObject({
      code: 2,
      stderr: 'outbox:purge: --dry-run needs --dead\n',
    });
  });
});

describe('outbox:retry with a new policy', () => {
  const retryOf = async (id: string): Promise<unknown> => (await store().peek({ id }, 1))[0]?.retry;

  it.each([
    [['--attempts', '7'], { maxAttempts: 7 }],
    [['--backoff', 'fixed:5s'], { backoff: { type: 'fixed', delayMs: 5_000 } }],
    [['--backoff', 'exponential:1s'], { backoff: { type: 'exponential', delayMs: 1_000 } }],
    [
      ['--attempts', '3', '--backoff', 'exponential:500ms:1h'],
      { maxAttempts: 3, backoff: { type: 'exponential', delayMs: 500, maxDelayMs: 3_600_000 } },
    ],
  ])('%j', async (args, policy) => {
    await dead('a', 'b');
    expect(await line.run('outbox:retry', 'a', ...args)).toMatchObject({ code: 0, stderr: '' });
    expect(await retryOf('a')).toEqual(policy);
    expect(await line.run('outbox:retry', '--error', '502', ...args)).toMatchObject({
      stdout: 'outbox:retry requeued=1\n',
    });
    expect(await retryOf('b')).toEqual(policy);
  });

  it('takes the name of a strategy, and rejects one that the application has not configured', async () => {
    line = new CommandLine([], {
      outbox: { publisher: async () => {}, backoffStrategies: { linear: () => 1 } },
    });
    await dead('a');
    expect(await line.run('outbox:retry', 'a', '--backoff', 'linaer')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^outbox:retry: .*'linaer' is not configured.*use 'linear'\n$/),
    });
    expect(await line.run('outbox:retry', 'a', '--backoff', 'linear')).toMatchObject({ code: 0 });
    expect(await retryOf('a')).toEqual({ backoff: { type: 'linear' } });
  });

  it('keeps the parts that are not passed', async () => {
    await store().enqueue({
      id: 'a',
      topic: 't',
      payload: 1,
      retry: { maxAttempts: 2, backoff: { type: 'fixed', delayMs: 10 } },
    });
    await line.run('outbox:retry', 'a', '--attempts', '9');
    expect(await retryOf('a')).toEqual({ maxAttempts: 9, backoff: { type: 'fixed', delayMs: 10 } });
  });

  it.each([
    'fixed',
    'exponential',
    'fixed:',
    'fixed:5',
    'linear:5s',
    'exponential:1h:1s',
    'exponential:1s:2s:3s',
    '',
  ])('refuses the backoff %j with an example', async (backoff) => {
    await dead('a');
    const { code, stderr } = await line.run('outbox:retry', 'a', '--backoff', backoff);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: option '--backoff <spec>' .*fixed:5s.*\n$/);
    expect(await store().count()).toMatchObject({ dead: 1 });
  });

  it.each(['0', '-1', '1.5', 'many'])('refuses %j attempts', async (attempts) => {
    await dead('a');
    expect(await line.run('outbox:retry', 'a', '--attempts', attempts)).toMatchObject({ code: 2 });
    expect(await store().count()).toMatchObject({ dead: 1 });
  });
});
