import { isOutboxError, OutboxError, type PublisherProblem } from '@postcommit/core';
import type { Connection } from './connection.js';
import { replyCodeOf } from './errors.js';
import type { ResolvedOptions } from './options.js';
import type { RabbitmqChannel } from './rabbitmq-client.js';

const NOT_FOUND = 404;
const ACCESS_REFUSED = 403;
const PRECONDITION_FAILED = 406;

/** A lost connection is noticed after two or three heartbeats. */
const LONGEST_HEARTBEAT_SECONDS = 30;

/**
 * Creates what `declare` says. Does nothing without it.
 *
 * @throws OutboxError `INVALID_CONFIG` where an exchange or queue of that name exists with other settings.
 */
export async function declareTopology(connection: Connection, options: ResolvedOptions): Promise<void> {
  const { topology, exchange } = options;
  if (!topology) return;
  await onOwnChannel(connection, async (channel) => {
    if (exchange !== '')
      await declared(exchange, channel.assertExchange(exchange, topology.type, { durable: true }));
    for (const [queue, patterns] of Object.entries(topology.queues)) {
      await declared(
        queue,
        channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } }),
      );
      if (exchange === '') continue;
      for (const pattern of patterns) await channel.bindQueue(queue, exchange, pattern);
    }
  });
}

/** What makes sending impossible, or confirmations less than they seem. */
export async function problemsOf(
  connection: Connection,
  options: ResolvedOptions,
): Promise<PublisherProblem[]> {
  return [...connectionProblems(connection), ...(await exchangeProblems(connection, options))];
}

function connectionProblems({ client }: Connection): PublisherProblem[] {
  const { serverProperties, heartbeat } = client.connection ?? {};
  const problems: PublisherProblem[] = [];
  if (serverProperties && !canConfirm(serverProperties)) {
    problems.push({
      level: 'required',
      problem: 'the broker does not confirm messages, so a row could be lost after it counted as delivered',
      fix: 'use RabbitMQ, or a broker with publisher confirms and basic.nack',
    });
  }
  if (heartbeat !== undefined && (heartbeat === 0 || heartbeat > LONGEST_HEARTBEAT_SECONDS)) {
    problems.push({
      level: 'warning',
      problem: `the heartbeat is ${heartbeat === 0 ? 'off' : `${heartbeat} s`}, so a connection that is dead is used until a confirm is overdue`,
      fix: 'connect with heartbeat=10 in the URL',
    });
  }
  return problems;
}

function canConfirm({ capabilities }: Readonly<Record<string, unknown>>): boolean {
  const known = typeof capabilities === 'object' && capabilities !== null ? capabilities : {};
  return 'publisher_confirms' in known && known.publisher_confirms === true;
}

async function exchangeProblems(
  connection: Connection,
  { exchange }: ResolvedOptions,
): Promise<PublisherProblem[]> {
  if (exchange === '') return [];
  try {
    await onOwnChannel(connection, (channel) => channel.checkExchange(exchange));
    return [];
  } catch (error) {
    const code = replyCodeOf(error);
    if (code === NOT_FOUND) {
      const problem = `RabbitMQ has no exchange '${exchange}'`;
      return [{ level: 'required', problem, fix: 'create it, or set declare: true' }];
    }
    if (code === ACCESS_REFUSED) {
      const problem = `the user may not look at the exchange '${exchange}', so nobody knows whether it exists`;
      return [{ level: 'warning', problem, fix: 'check it by hand' }];
    }
    throw error;
  }
}

/** An error closes the channel, so it is not the one that rows are on. */
async function onOwnChannel(
  { client }: Connection,
  work: (channel: RabbitmqChannel) => Promise<unknown>,
): Promise<void> {
  const channel = await client.createChannel();
  // Without a listener it would end the process. The call that caused it rejects as well.
  channel.on('error', () => {});
  await work(channel);
  await channel.close();
}

async function declared(name: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (cause) {
    if (isOutboxError(cause) || replyCodeOf(cause) !== PRECONDITION_FAILED) throw cause;
    const problem = `'${name}' exists with other settings; change declare, or set declare: false`;
    throw new OutboxError('INVALID_CONFIG', `rabbitmqPublisher: ${problem}`, { cause });
  }
}
