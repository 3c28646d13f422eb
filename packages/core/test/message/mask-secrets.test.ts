import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskSecrets } from '../../src/message/mask-secrets.js';

describe('credentials in addresses', () => {
  test.each([
    ['connect postgres://app:secret@db:5432/x failed', 'connect postgres://***@db:5432/x failed'],
    ['postgres://app:sec/ret@db', 'postgres://***@db'],
    ['postgres://app:sec@ret@db', 'postgres://***@db'],
    [`url "postgres://app:'sec"ret@db"`, `url "postgres://***@db"`],
    ['via https://ghp_abc@proxy.example/ now', 'via https://***@proxy.example/ now'],
    ['amqp://a:b@one and amqp://c:d@two', 'amqp://***@one and amqp://***@two'],
    ['http://one/,http://u:p@two/', 'http://one/,http://***@two/'],
  ])('%s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });
});

describe('named secrets', () => {
  test.each([
    ['host=db password=hunter2 user=app', 'host=db password=*** user=app'],
    ['Server=db;Pwd=a=b;Database=shop', 'Server=db;Pwd=***;Database=shop'],
    ['Server=db;Password = x1;', 'Server=db;Password = ***;'],
    ["PGPASSWORD='two secret words' psql", 'PGPASSWORD=*** psql'],
    ["password='it''s' user=app", 'password=*** user=app'],
    ['DB_PASS=x1 and passphrase: x2', 'DB_PASS=*** and passphrase: ***'],
    ['https://db/x?user=a&password=s&ssl=1', 'https://db/x?user=a&password=***&ssl=1'],
    [
      'Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=aB+/c=;EntityPath=q',
      'Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=***;EntityPath=q',
    ],
    ['AccountName=a;AccountKey=Zm9v==;Suffix=x', 'AccountName=a;AccountKey=***;Suffix=x'],
    ['SharedAccessSignature=sr&sig=abc%3D&se=17', 'SharedAccessSignature=***&sig=***&se=17'],
    ['SharedAccessSignature sr=a&sig=abc%3D', 'SharedAccessSignature sr=a&sig=***'],
    ['GET /v1?api_key=k1&page=2', 'GET /v1?api_key=***&page=2'],
    ['apikey: k1, api-key: k2, X-Api-Key: k3', 'apikey: ***, api-key: ***, X-Api-Key: ***'],
    ['aws_secret_access_key=wJalr/K7 region=eu', 'aws_secret_access_key=*** region=eu'],
    ['client_secret=c1&grant_type=x', 'client_secret=***&grant_type=x'],
    ['access_token=t1&token_type=bearer', 'access_token=***&token_type=bearer'],
    [
      '{"user":"app","password":"p\\"w","clientSecret":"c1"}',
      '{"user":"app","password":***,"clientSecret":***}',
    ],
    ['{ "password" : "two words", "port" : 1 }', '{ "password" : ***, "port" : 1 }'],
    ['body: "{\\"token\\":\\"t1 t2\\",\\"id\\":7}"', 'body: "{\\"token\\":***,\\"id\\":7}"'],
    ["{ password: 'p1', secret => 's1' }", '{ password: ***, secret => *** }'],
    ['password="never closed and so on', 'password=***'],
  ])('%s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });
});

describe('authorization', () => {
  test.each([
    ['sent Bearer abc123.def-4 to it', 'sent Bearer *** to it'],
    ['sent Basic dXNlcjpwYXNz to it', 'sent Basic *** to it'],
    ['Authorization: Bearer short, x: 1', 'Authorization: Bearer ***, x: 1'],
    ['authorization: Basic dXNlcjpwYXNz', 'authorization: Basic ***'],
    ['"authorization":"Basic dXNlcjpwYXNz","a":1', '"authorization":"Basic ***","a":1'],
    ['Proxy-Authorization: opaque', 'Proxy-Authorization: ***'],
    ['Cookie: sid=1; b=2\nHost: x', 'Cookie: ***\nHost: x'],
    ['token is eyJhbGciOi.eyJzdWIi.c2ln here', 'token is *** here'],
  ])('%s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });
});

describe('ordinary text stays as it is', () => {
  test.each([
    'the token expired',
    'password must not be empty',
    'password authentication failed for user "app"',
    'Bearer token is missing',
    'Bearer authentication required',
    'Bearer error="invalid_grant"',
    'Basic authentication failed',
    'mail to a@b.example',
    'https://example.com/path?mail=me@example.org',
    'max_tokens=4096, tokens: 12',
    'duplicate key value violates unique constraint: Key (id)=(7)',
    'key=order-7 bypass: true compass=1',
    'secretary: Ms. Token',
    'Unexpected token } in JSON at position 7',
    'the secret orders/webhook was not found',
  ])('%s', (text) => {
    expect(maskSecrets(text)).toBe(text);
  });
});

test('masking twice changes nothing', () => {
  const masked =
    'at amqp://***@mq with password=*** and "token":*** and Bearer *** and Authorization: Basic ***';
  expect(maskSecrets(masked)).toBe(masked);
});

test('a secret in any of these places is masked, whatever its characters', () => {
  const alphabet = [...'abcXYZ0189!#$%()*+-./:<=>?@[\\]^_`{|}~'];
  const secret = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 8, maxLength: 40 });
  const places: ((secret: string) => string)[] = [
    (it) => `tcp://app:${it}@db/shop refused`,
    (it) => `host=db password=${it} port=1`,
    (it) => `{"id":1,"apiKey":${JSON.stringify(it)},"n":2}`,
    (it) => JSON.stringify({ body: JSON.stringify({ client_secret: it, n: 2 }) }),
    (it) => `pwd='${it.replaceAll('\\', '\\\\')}' port=1`,
    (it) => `Server=db;AccountKey=${it};Port=1`,
  ];
  fc.assert(
    fc.property(secret, fc.constantFrom(...places), fc.string({ maxLength: 20 }), (it, place, before) => {
      const unquoted = before.replaceAll(/["'\\]/g, '');
      expect(maskSecrets(`${unquoted} ${place(it)}`)).not.toContain(it);
    }),
    { numRuns: 1_000 },
  );
});
