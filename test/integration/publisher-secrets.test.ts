import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { findNats } from '@internal/test-brokers/nats';
import { findRabbitmq } from '@internal/test-brokers/rabbitmq';
import { createOutbox, type OutboxPublisher } from '@postcommit/core';
import { natsPublisher } from '@postcommit/publisher-nats';
import { rabbitmqPublisher } from '@postcommit/publisher-rabbitmq';
import { redisPublisher } from '@postcommit/publisher-redis';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { memoryStore } from '@postcommit/store-memory';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useOpenTelemetry } from '../../packages/telemetry/test/use-opentelemetry.js';

const otel = useOpenTelemetry();
const PASSWORD = 'hunter2-is-secret';
const SIGNING_KEY = Buffer.alloc(32, 'signing').toString('base64');
const PATH = 'hooks/t0ken-in-the-path';
const PAYLOAD = 'card 4242-4242';
const SECRETS = [PASSWORD, SIGNING_KEY, 't0ken-in-the-path', '4242-4242', 'v1,'];

/** Publishers that fail, each in a way that may quote what it was given. */
const failing: Readonly<Record<string, () => Promise<OutboxPublisher>>> = {
  'a webhook that repeats the request in a 400': async () => webhookTo(await echoWith(400)),
  'a webhook that repeats the request in a 500': async () => webhookTo(await echoWith(500)),
  'a webhook on a port where nobody listens': async () => webhookTo('http://127.0.0.1:9'),
  'RabbitMQ on a port where nobody listens': async () => rabbitmqAt('127.0.0.1:9'),
  'RabbitMQ that refuses the login': async () => rabbitmqAt(hostOf(await findRabbitmq(), '127.0.0.1:9')),
  'NATS on a port where nobody listens': async () => natsAt('127.0.0.1:9'),
  'NATS without the stream': async () => natsAt(await findNats().then(hostOf, () => '127.0.0.1:9')),
  'Redis on a port where nobody listens': async () =>
    redisPublisher({ url: `redis://app:${PASSWORD}@127.0.0.1:9` }),
};

describe('no password, key, signature or payload is in an error, log line, health check or span of', () => {
  it.each(Object.entries(failing))('%s', async (_what, createPublisher) => {
    const lines: string[] = [];
    const log = (line: string): number => lines.push(line);
    const outbox = createOutbox({
      store: memoryStore(),
      publisher: await createPublisher(),
      modules: [OutboxTelemetryModule],
      logger: { info: log, warn: log, error: log },
      pollIntervalMs: 10,
    });
    onTestFinished(() => outbox.stop({ graceMs: 0 }));
    const failures: unknown[] = [];
    for (const event of ['failed', 'dead', 'unavailable', 'publisherProblem', 'trouble'] as const)
      outbox.on(event, (told) => failures.push(told));
    await outbox.enqueue({ topic: 'order.paid', payload: { note: PAYLOAD } });
    await outbox.start();
    await expect.poll(() => failures.length, { timeout: 20_000 }).toBeGreaterThan(0);
    await expect.poll(() => otel.spans('outbox publish').length, { timeout: 20_000 }).toBeGreaterThan(0);
    const rows = await outbox.store.peek({}, 1);
    const said = [
      ...lines,
      JSON.stringify(await outbox.health()),
      ...rows.map(({ lastError }) => String(lastError)),
      ...otel.spans('outbox publish').map((span) => inspect(span, { depth: 8 })),
      ...failures.map((told) => errorsIn(told)),
    ].join('\n');
    expect(SECRETS.filter((secret) => said.includes(secret))).toEqual([]);
  });
});

/** What an event says besides its row, which belongs to the application. */
function errorsIn(told: unknown): string {
  const { row: _, ...rest } = told as { row?: unknown };
  return inspect(rest, { depth: 8 });
}

function webhookTo(address: string): OutboxPublisher {
  return webhookPublisher({
    url: `${address}/${PATH}`,
    secret: `whsec_${SIGNING_KEY}`,
    headers: { authorization: `Bearer ${PASSWORD}` },
  });
}

function rabbitmqAt(host: string): OutboxPublisher {
  return rabbitmqPublisher({ url: `amqp://app:${PASSWORD}@${host}`, exchange: '' });
}

function natsAt(host: string): OutboxPublisher {
  return natsPublisher({ servers: `nats://${host}`, user: 'app', pass: PASSWORD });
}

function hostOf(url: string | undefined, otherwise = ''): string {
  return url === undefined ? otherwise : new URL(url).host;
}

/** A server that answers with all that it was sent. */
async function echoWith(status: number): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(status);
    response.write(`${JSON.stringify(request.headers)} ${request.url} `);
    request.pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
