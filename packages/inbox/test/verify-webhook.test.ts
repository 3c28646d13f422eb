import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cloudEventOf, messageIdOf, verifyWebhook } from '../src/index.js';
import { NEW, OLD, OTHER, secondsFromNow, signedHeaders } from './signed-webhooks.js';

beforeEach(() => void vi.useFakeTimers({ now: new Date('2026-03-29T01:02:03.000Z'), toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const body = '{"amount":12}';
const refused = (problem: string): unknown =>
  expect.objectContaining({ code: 'INVALID_MESSAGE', message: `the webhook is not genuine: ${problem}` });
const WRONG = 'none of its signatures is right';

describe('verifyWebhook accepts', () => {
  it('the example of the standard', () => {
    // From the tests of the reference libraries of Standard Webhooks.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    vi.setSystemTime(1_614_265_330_000);
    const message = verifyWebhook({ headers, body: '{"test": 2432232314}' }, { secret });
    expect(message.json()).toEqual({ test: 2432232314 });
  });

  it('a request as text or bytes, and returns what is signed', () => {
    for (const raw of [body, Buffer.from(body), new Uint8Array(Buffer.from(body))]) {
      const message = verifyWebhook({ headers: signedHeaders({ body }), body: raw }, { secret: OLD });
      expect(message).toMatchObject({ id: 'm-1', timestamp: new Date('2026-03-29T01:02:03.000Z') });
      expect(Buffer.from(message.body).toString()).toBe(body);
      expect(message.json()).toEqual({ amount: 12 });
    }
  });

  it('headers of fetch, in any case, with a message for the other functions', () => {
    const attributes = {
      'ce-specversion': '1.0',
      'ce-id': 'x',
      'ce-source': '/shop',
      'ce-type': 'order.paid',
    };
    const headers = new Headers({
      ...signedHeaders({ body }),
      ...attributes,
      'Content-Type': 'application/json',
    });
    const message = verifyWebhook({ headers, body }, { secret: OLD });
    expect(messageIdOf(message)).toBe('m-1');
    expect(cloudEventOf(message)).toMatchObject({ type: 'order.paid', data: { amount: 12 } });
  });

  it.each([
    ['the receiver has both secrets', [OLD], [NEW, OLD]],
    ['the receiver has only the old one', [NEW, OLD], OLD],
    ['the receiver has only the new one', [NEW, OLD], [NEW]],
    ['both have both', [NEW, OLD], [OLD, NEW]],
  ])('requests while secrets are rotated: %s', (_, secrets, secret) => {
    const headers = signedHeaders({ body, secrets });
    expect(verifyWebhook({ headers, body }, { secret }).id).toBe('m-1');
  });

  it('one right signature among others, of other versions too', () => {
    const headers = signedHeaders({ body });
    const others = `v1a,AAAA v1,AAAA ${headers['webhook-signature']} v2,AAAA`;
    expect(
      verifyWebhook({ headers: { ...headers, 'webhook-signature': others }, body }, { secret: OLD }).id,
    ).toBe('m-1');
  });

  it.each([-300, -299, 0, 299, 300])('a time that is %d s from now', (seconds) => {
    const headers = signedHeaders({ body, timestamp: secondsFromNow(seconds) });
    expect(verifyWebhook({ headers, body }, { secret: OLD }).id).toBe('m-1');
  });
});

describe('verifyWebhook refuses', () => {
  const genuine = (): ReturnType<typeof signedHeaders> => signedHeaders({ body });
  const verify = (headers: object, raw = body, options = {}): unknown =>
    verifyWebhook({ headers: headers as Headers, body: raw }, { secret: OLD, ...options });

  it('another body, id, time or secret', () => {
    expect(() => verify(genuine(), '{"amount":13}')).toThrow(refused(WRONG));
    expect(() => verify(genuine(), `${body} `)).toThrow(refused(WRONG));
    expect(() => verify({ ...genuine(), 'webhook-id': 'm-2' })).toThrow(refused(WRONG));
    const later = String(secondsFromNow(1));
    expect(() => verify({ ...genuine(), 'webhook-timestamp': later })).toThrow(refused(WRONG));
    expect(() => verify(genuine(), body, { secret: [OTHER, NEW] })).toThrow(refused(WRONG));
  });

  it('signatures that are shorter, longer, without a version, or of another one', () => {
    const right = genuine()['webhook-signature'];
    const wrong = [
      right.slice(0, -1),
      `${right}=`,
      `${right}A`,
      right.slice(3),
      right.replace('v1,', 'v2,'),
      'v1,',
      'v1',
    ];
    for (const signature of [...wrong, right.toLowerCase(), right.replace(' ', ''), `x${right}`]) {
      if (signature === right) continue;
      expect(() => verify({ ...genuine(), 'webhook-signature': signature }), signature).toThrow(
        refused(WRONG),
      );
    }
  });

  it.each([
    [-301, 'in the past'],
    [301, 'in the future'],
    [-86_400 * 365, 'in the past'],
  ])('a time that is %d s from now, although it is signed', (seconds, where) => {
    const headers = signedHeaders({ body, timestamp: secondsFromNow(seconds) });
    expect(() => verify(headers)).toThrow(refused(`its webhook-timestamp is more than 300000 ms ${where}`));
  });

  it('what is older than toleranceMs', () => {
    const at = (seconds: number) => signedHeaders({ body, timestamp: secondsFromNow(seconds) });
    expect(verify(at(-60), body, { toleranceMs: 60_000 })).toMatchObject({ id: 'm-1' });
    expect(() => verify(at(-61), body, { toleranceMs: 60_000 })).toThrow('more than 60000 ms in the past');
  });

  it.each(['now', '1.5e9', '-1', ' ', '0x7', '9'.repeat(13), '1774746123.5', 'NaN'])(
    'the time %j',
    (timestamp) => {
      const headers = signedHeaders({ body, timestamp });
      expect(() => verify(headers)).toThrow(refused('its webhook-timestamp is not a time in seconds'));
    },
  );

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('a request without %s', (name) => {
    const problem = refused('it needs the headers webhook-id, webhook-timestamp and webhook-signature');
    expect(() => verify({ ...genuine(), [name]: undefined })).toThrow(problem);
    expect(() => verify({ ...genuine(), [name]: '' })).toThrow(problem);
  });

  it('a body that was parsed', () => {
    const call = (): unknown =>
      verifyWebhook({ headers: genuine(), body: { amount: 12 } as never }, { secret: OLD });
    expect(call).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('raw') }),
    );
  });

  it('a body that is not JSON only when it is parsed, strictly', () => {
    const broken = verifyWebhook(
      { headers: signedHeaders({ body: '{secret' }), body: '{secret' },
      { secret: OLD },
    );
    expect(() => broken.json()).toThrow(
      expect.objectContaining({ code: 'INVALID_MESSAGE', message: 'the body of the webhook is not JSON' }),
    );
  });
});

describe('the options of verifyWebhook', () => {
  const config = (options: object, text: string): void => {
    const call = (): unknown => verifyWebhook({ headers: signedHeaders({ body }), body }, options as never);
    expect(call).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(text) }),
    );
  };

  it('must have a secret, which no message quotes', () => {
    config({}, 'verifyWebhook: secret must be');
    config({ secret: [] }, 'verifyWebhook: secret is an empty list');
    config(
      { secret: [OLD, 'whsec_tooshort'] },
      "secret 1 must be 'whsec_' and the base64 of 24 to 64 random bytes",
    );
    for (const secret of ['', 'hunter2', OLD.slice(6), `whsec_${'A'.repeat(200)}`, `${OLD}\n`]) {
      config({ secret }, 'secret must be');
      const quote = (): unknown => verifyWebhook({ headers: {}, body }, { secret });
      if (secret !== '') expect(quote).not.toThrow(secret);
    }
  });

  it('are checked', () => {
    config({ secret: OLD, toleranceMS: 5 }, "unknown option 'toleranceMS': did you mean 'toleranceMs'?");
    for (const toleranceMs of [0, 999, -1, Number.NaN, Number.POSITIVE_INFINITY, '300000'])
      config({ secret: OLD, toleranceMs }, 'toleranceMs must be at least 1000');
  });
});
