import { describe, expect, test } from 'vitest';
import { codeOf, publishError } from '../src/redis-errors.js';
import { addCommand, toMessage } from '../src/redis-message.js';
import { rowOf } from './scene.js';

const plain = { streamMustExist: false, isIdempotent: false, maxLength: undefined };

describe('the entry of a row', () => {
  test('has its fields, and all headers as JSON', async () => {
    const row = rowOf('order.paid', { id: 'row-1', key: 'account-7', headers: { tenant: 'a' } });
    const command = addCommand(await toMessage(row, {}), plain);
    expect(command).toEqual([
      ...['XADD', 'order.paid', '*', 'id', 'row-1', 'topic', 'order.paid', 'key', 'account-7'],
      ...['payload', '{"total":7}', 'headers', expect.any(String)],
      ...['createdAt', '2026-11-19T10:00:00.000Z', 'contentType', 'application/json'],
    ]);
    expect(JSON.parse(String(command[12]))).toEqual({
      tenant: 'a',
      'outbox-id': 'row-1',
      'outbox-topic': 'order.paid',
      'outbox-key': 'account-7',
      'outbox-created-at': '2026-11-19T10:00:00.000Z',
    });
  });

  test('has no key if the row has none', async () => {
    expect((await toMessage(rowOf('orders'), {})).fields).not.toContain('key');
  });

  test('goes to the stream that the function returns', async () => {
    const stream = ({ topic }: { topic: string }) => `{shop}:${topic}`;
    expect((await toMessage(rowOf('orders'), { stream })).stream).toBe('{shop}:orders');
  });

  test.each<[string, () => unknown]>([
    ['throws', () => JSON.parse('{')],
    ['returns nothing', () => undefined],
    ['returns an empty name', () => ''],
    ['returns half a character', () => '\ud83d'],
  ])('is refused for good if the function %s', async (_, stream) => {
    await expect(toMessage(rowOf('orders'), { stream: stream as never })).rejects.toMatchObject({
      permanent: true,
    });
  });

  test('is added with what the options ask for, in the order of Redis', async () => {
    const message = await toMessage(rowOf('orders', { id: 'row-1' }), {});
    const command = addCommand(message, { streamMustExist: true, isIdempotent: true, maxLength: 9 });
    expect(command.slice(0, 9)).toEqual([
      ...['XADD', 'orders', 'NOMKSTREAM', 'IDMP', 'postcommit', 'row-1', 'MAXLEN', '~', '9'],
    ]);
    expect(command[9]).toBe('*');
  });
});

describe('an error reply', () => {
  const sending = { id: 'row-1', stream: 'orders' };
  const away = { name: 'UnavailableError' };

  test.each([
    ['WRONGTYPE Operation against a key', { name: 'PermanentError' }],
    ['OOM command not allowed', { ...away, isCertain: true }],
    ['READONLY You can not write', { ...away, isCertain: true }],
    ['LOADING Redis is loading', { ...away, isCertain: true }],
    ['CLUSTERDOWN The cluster is down', { ...away, isCertain: true }],
    ['MISCONF Redis is configured to save', { ...away, isCertain: true }],
    ['MASTERDOWN Link with MASTER is down', { ...away, isCertain: true }],
    ['NOREPLICAS Not enough good replicas', { ...away, isCertain: true }],
    ['NOAUTH Authentication required.', { ...away, isCertain: true }],
    ['WRONGPASS invalid username-password pair', { ...away, isCertain: true }],
    ['NOPERM this user has no permissions', { ...away, isCertain: true }],
    ['BUSY Redis is busy running a script', { ...away, isCertain: false }],
    ['MOVED 3999 127.0.0.1:6381', { ...away, isCertain: false }],
    ['TRYAGAIN Multiple keys request', { ...away, isCertain: false }],
    ['ERR something else', { name: 'TransientError' }],
    ['Socket closed unexpectedly', { ...away, isCertain: false }],
  ])('%s', (text, expected) => {
    const error = new Error(text);
    expect(publishError(error, sending)).toMatchObject({ ...expected, cause: expect.any(Error) });
  });

  test('to an unknown command is not passed on with what was sent', () => {
    const error = new Error("ERR unknown command 'XADD', with args beginning with: 'orders' 'secret' ");
    expect((publishError(error, sending) as Error).cause).toEqual(new Error("ERR unknown command 'XADD'"));
  });

  test('has a code, other errors have none', () => {
    expect(codeOf(new Error('OOM'))).toBe('OOM');
    expect(codeOf(new Error('connect ECONNREFUSED 127.0.0.1:6379'))).toBeUndefined();
    expect(codeOf('OOM text')).toBeUndefined();
  });
});
