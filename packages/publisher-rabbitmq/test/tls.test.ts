import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher, type RabbitmqPublisherOptions } from '../src/index.js';
import { anyBroker, publish, reasonOf, row } from './broker.js';
import { TestExchange } from './rabbitmq-harness.js';

const url = await anyBroker();
const suffix = url === undefined ? ': no RabbitMQ to run on' : '';

interface Identity {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** A certificate for localhost, made anew. Undefined where there is no `openssl`. */
function makeIdentity(): Identity | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'postcommit-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  try {
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1'];
    execFileSync('openssl', [...request, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const identity = makeIdentity();

describe.skipIf(url === undefined || !identity)(`amqps${suffix}`, () => {
  let test: TestExchange;
  let server: Server;
  let publisher: RabbitmqPublisher | undefined;
  let holdAnswers: () => void;

  beforeEach(async () => {
    test = await TestExchange.create(url ?? '');
    const target = new URL(url ?? '');
    server = createServer({ ...identity }, (client) => {
      const broker = connectSocket(Number(target.port), target.hostname);
      for (const socket of [client, broker]) socket.on('error', () => {});
      client.pipe(broker).pipe(client);
      holdAnswers = () => broker.unpipe(client);
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    await publisher?.stop({});
    server.close();
    await test.close();
  });

  function create(options: Partial<RabbitmqPublisherOptions>): RabbitmqPublisher {
    const secure = new URL((url ?? '').replace(/^amqp:/, 'amqps:'));
    secure.hostname = 'localhost';
    secure.port = String((server.address() as AddressInfo).port);
    publisher = new RabbitmqPublisher({ url: secure.href, exchange: test.exchange, ...options });
    return publisher;
  }

  it('takes the certificate of socketOptions, and closes its socket at stop', async () => {
    const secure = create({ socketOptions: { ca: identity?.cert } });
    expect(await publish(secure, [row()])).toEqual([{ status: 'fulfilled' }]);
    await secure.stop({});
    await expect.poll(() => connectionsOf(server)).toBe(0);
  });

  it('refuses a certificate that nobody has vouched for: rows wait', async () => {
    const reason = reasonOf((await publish(create({}), [row()]))[0]);
    expect(reason).toMatchObject({ unavailable: true, isCertain: true });
    expect(reason.cause).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  it('closes its socket when a row is given up that nobody has confirmed', async () => {
    const secure = create({ socketOptions: { ca: identity?.cert } });
    await publish(secure, [row()]);
    const giveUp = new AbortController();
    holdAnswers();
    const publishing = publish(secure, [row()], giveUp.signal);
    await expect.poll(() => test.received.length).toBe(2);
    giveUp.abort(new Error('given up'));
    expect(reasonOf((await publishing)[0]).message).toBe('given up');
    await expect.poll(() => connectionsOf(server)).toBe(0);
  });
});

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
