import type { LookupAddress } from 'node:dns';
import { PermanentError, TransientError } from '@postcommit/core';
import { describe, expect, test } from 'vitest';
import { AddressGuard, type LookupAll } from '../src/address-guard.js';
import { GuardedTransport } from '../src/guarded-transport.js';
import { isPublicAddress } from '../src/public-addresses.js';
import { failureOf, openServer, publish, publisherOf, rowWith } from './fixture.js';

/** In the forms in which a URL can have them. */
const PRIVATE_HOSTS = [
  ['loopback', '127.0.0.1'],
  ['loopback elsewhere in its range', '127.8.9.10'],
  ['loopback in decimal', '2130706433'],
  ['loopback in octal', '0177.0.0.01'],
  ['loopback in hexadecimal', '0x7f.0.0.0x1'],
  ['loopback as one hexadecimal number', '0x7f000001'],
  ['loopback shortened', '127.1'],
  ['loopback in full-width digits', '１２７.0.0.1'],
  ['loopback with a dot at its end', '127.0.0.1.'],
  ['loopback, percent-encoded', '%31%32%37.0.0.1'],
  ['this host', '0.0.0.0'],
  ['this host, shortened', '0'],
  ['10/8', '10.1.2.3'],
  ['172.16/12', '172.31.255.255'],
  ['192.168/16', '192.168.0.1'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['metadata of most clouds', '169.254.169.254'],
  ['metadata of most clouds in decimal', '2852039166'],
  ['metadata of Alibaba', '100.100.100.200'],
  ['metadata of Oracle', '192.0.0.192'],
  ['metadata of Azure', '168.63.129.16'],
  ['documentation', '192.0.2.1'],
  ['benchmarks', '198.18.0.1'],
  ['multicast', '224.0.0.1'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['IPv6 loopback', '[::1]'],
  ['IPv6 unspecified', '[::]'],
  ['IPv6 link-local', '[fe80::1]'],
  ['IPv6 unique local', '[fd12:3456::1]'],
  ['IPv6 metadata of AWS', '[fd00:ec2::254]'],
  ['IPv6 multicast', '[ff02::1]'],
  ['IPv6 site-local', '[fec0::1]'],
  ['IPv6 documentation', '[2001:db8::1]'],
  ['IPv4 mapped to IPv6', '[::ffff:127.0.0.1]'],
  ['IPv4 mapped to IPv6, in hexadecimal', '[::ffff:7f00:1]'],
  ['IPv4 mapped to IPv6, in full', '[0:0:0:0:0:ffff:a9fe:a9fe]'],
  ['IPv4-compatible IPv6', '[::127.0.0.1]'],
  ['IPv4-translated IPv6', '[::ffff:0:127.0.0.1]'],
  ['NAT64', '[64:ff9b::10.0.0.1]'],
  ['NAT64 of a local prefix', '[64:ff9b:1::10.0.0.1]'],
  ['6to4', '[2002:7f00:1::]'],
  ['Teredo', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]'],
] as const;

describe('with URLs from rows', () => {
  test.each(PRIVATE_HOSTS)('a private address is refused for good, before sending: %s', async (_, host) => {
    const publisher = publisherOf({ url: () => `http://${host}/latest/meta-data` });
    const error = await failureOf(publisher);
    expect(error).toBeInstanceOf(PermanentError);
    expect(error.message).toContain('is not a public address');
  });

  test('a name that leads to this host is refused, and costs an attempt', async () => {
    const server = await openServer('localhost');
    const publisher = publisherOf({ url: () => `http://localhost:${server.port}/` });
    const error = await failureOf(publisher);
    expect(error).toBeInstanceOf(TransientError);
    expect(error).toMatchObject({ name: 'TransientError', permanent: false });
    expect(error.message).toContain('localhost has no public address');
    expect(server.requests).toEqual([]);
  });

  test.each([
    ['a host', ['localhost']],
    ['a host in other letters', ['LocalHost']],
    ['addresses', ['127.0.0.1', '::1']],
    ['a range', ['127.0.0.0/8', '::1/128']],
  ])('a list permits %s', async (_, allowPrivateAddresses) => {
    const server = await openServer('localhost');
    const url = (): string => `http://localhost:${server.port}/`;
    await publish(publisherOf({ url, allowPrivateAddresses }));
    expect(server.requests).toHaveLength(1);
  });

  test('a list permits nothing else', async () => {
    const publisher = publisherOf({ url: () => 'http://10.2.0.1/', allowPrivateAddresses: ['10.1.0.0/16'] });
    expect(await failureOf(publisher)).toBeInstanceOf(PermanentError);
  });

  test.each([
    'file:///etc/passwd',
    'gopher://x.example/',
    'ftp://x.example/',
    'data:,x',
    'partner.example',
    '',
  ])('only http and https are URLs of a webhook: %s', async (url) => {
    const error = await failureOf(publisherOf({ url: () => url }));
    expect(error).toBeInstanceOf(PermanentError);
    expect(error.message).not.toContain('passwd');
  });

  test('a redirect to a private address is not followed', async () => {
    const [server, metadata] = [await openServer(), await openServer()];
    server.answer = (response) => response.writeHead(307, { location: `${metadata.url}/` }).end();
    const publisher = publisherOf({ url: () => server.url, allowPrivateAddresses: ['127.0.0.1'] });
    expect(await failureOf(publisher)).toMatchObject({ name: 'UnavailableError' });
    expect(metadata.requests).toEqual([]);
  });
});

test('with one URL of the application, this host is permitted by default, and refused on request', async () => {
  const server = await openServer();
  await publish(publisherOf({ url: server.url }));
  expect(server.requests).toHaveLength(1);
  expect(await failureOf(publisherOf({ url: server.url, allowPrivateAddresses: false }))).toBeInstanceOf(
    PermanentError,
  );
});

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700::1111',
  '2a00:1450::1',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
])('the public address %s is permitted', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each(['10.0.0.1', 'fe80::1%eth0', '::1', 'not an address', ''])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

describe('a name whose addresses change', () => {
  /** A DNS server under the control of somebody else: each question has its own answer. */
  function dns(...answers: string[][]): { lookup: LookupAll; asked: string[] } {
    const asked: string[] = [];
    const lookup: LookupAll = (hostname, _, callback) => {
      const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
      asked.push(hostname);
      setImmediate(() => callback(null, addresses.map(answerOf)));
    };
    return { lookup, asked };
  }

  function answerOf(address: string): LookupAddress {
    return { address, family: address.includes(':') ? 6 : 4 };
  }

  /** Here 127.0.0.1 stands for a public address, and all others of this host for private ones. */
  async function open(...answers: string[][]) {
    const server = await openServer('0.0.0.0');
    const { lookup, asked } = dns(...answers);
    const transport = new GuardedTransport(new AddressGuard(['127.0.0.1'], lookup));
    const send = () => {
      const url = new URL(`http://rebind.example:${server.port}/`);
      const body = new TextEncoder().encode('{}');
      return transport.send({ url, headers: {}, body }, new AbortController().signal);
    };
    return { server, asked, send, transport };
  }

  test('is connected to the address that was checked, although the next answer is another', async () => {
    const { server, asked, send, transport } = await open(['127.0.0.1'], ['127.0.0.2']);
    expect(await send()).toMatchObject({ status: 204 });
    expect(server.requests.map(({ localAddress }) => localAddress)).toEqual(['127.0.0.1']);
    expect(asked).toEqual(['rebind.example']);
    transport.close();
  });

  test('is checked again for each new connection', async () => {
    const { server, asked, send, transport } = await open(['127.0.0.1'], ['127.0.0.2']);
    await send();
    transport.close();
    await expect(send()).rejects.toThrow('rebind.example has no public address');
    expect(asked).toHaveLength(2);
    expect(server.requests).toHaveLength(1);
    transport.close();
  });

  test('is connected only to the permitted ones of several addresses', async () => {
    const { server, send, transport } = await open(['127.0.0.2', '127.0.0.1', '::1']);
    await send();
    expect(server.requests.map(({ localAddress }) => localAddress)).toEqual(['127.0.0.1']);
    transport.close();
  });

  test('is away if it has no address at all', async () => {
    const lookup: LookupAll = (_, __, callback) =>
      callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
    const transport = new GuardedTransport(new AddressGuard([], lookup));
    const url = new URL('http://gone.example/');
    const sending = transport.send(
      { url, headers: {}, body: new Uint8Array() },
      new AbortController().signal,
    );
    await expect(sending).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });
});

test('an unresolvable name is certainly away', async () => {
  const publisher = publisherOf({ url: () => 'http://nobody.invalid/' });
  const error = await failureOf(publisher, rowWith());
  expect(error).toMatchObject({ name: 'UnavailableError' });
});
