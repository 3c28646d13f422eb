import { isOutboxError, OutboxError } from '@postcommit/core';
import { connect as amqplibConnect } from 'amqplib';
import { Connection, withinLimit } from './connection.js';
import { notConnected } from './errors.js';
import { type RabbitmqCredentials, type ResolvedOptions, urlsOf } from './options.js';
import type { RabbitmqClient, RabbitmqSocketOptions } from './rabbitmq-client.js';

type Dial = (socketOptions: RabbitmqSocketOptions) => Promise<RabbitmqClient>;

/** Opens a connection as the options say. Every error is about the broker or the options, never about a row. */
export async function openConnection(options: ResolvedOptions, stopped: AbortSignal): Promise<Connection> {
  const { client, connect } = options;
  if (client) return new Connection({ client });
  if (connect) return dial(connect, options, stopped, 'RabbitMQ');
  const urls = urlsOf(await called('url', options.url));
  const credentials = credentialsOf(await called('credentials', options.credentials));
  return firstThatAnswers(urls, credentials, options, stopped);
}

async function firstThatAnswers(
  urls: readonly URL[],
  credentials: RabbitmqCredentials | undefined,
  options: ResolvedOptions,
  stopped: AbortSignal,
): Promise<Connection> {
  const errors: unknown[] = [];
  for (const url of urls) {
    try {
      return await dial(dialOf(url, credentials, options), options, stopped, `RabbitMQ at ${url.host}`);
    } catch (error) {
      errors.push(error);
      if (stopped.aborted) break;
    }
  }
  if (errors.length === 1) throw errors[0];
  throw notConnected('no node of RabbitMQ could be reached', new AggregateError(errors));
}

function dialOf(url: URL, credentials: RabbitmqCredentials | undefined, options: ResolvedOptions): Dial {
  const target = new URL(url);
  if (!target.searchParams.has('heartbeat')) {
    target.searchParams.set('heartbeat', String(options.heartbeatSeconds));
  }
  const login = credentials ?? credentialsIn(url);
  return (socketOptions) =>
    amqplibConnect(target.href, {
      ...(login && { credentials: plain(login) }),
      ...options.socketOptions,
      ...socketOptions,
    });
}

async function dial(
  connect: Dial,
  { connectTimeoutMs }: ResolvedOptions,
  stopped: AbortSignal,
  where: string,
): Promise<Connection> {
  const socket = new AbortController();
  const destroy = (): void => socket.abort();
  stopped.addEventListener('abort', destroy);
  try {
    if (stopped.aborted) throw notConnected('the publisher was stopped', undefined);
    const opening = connect({ noDelay: true, signal: socket.signal });
    const client = await withinLimit(connectTimeoutMs, opening, () => {
      destroy();
      // A `connect` that ignores the signal may still succeed.
      opening.then((late) => late.close()).catch(() => {});
    });
    return new Connection({ client, destroy });
  } catch (error) {
    throw notConnected(`could not connect to ${where}`, error);
  } finally {
    stopped.removeEventListener('abort', destroy);
  }
}

/** The value of an option, or what the function returns that stands for it. */
async function called<T>(name: string, option: T | (() => T | Promise<T>)): Promise<T> {
  if (typeof option !== 'function') return option;
  try {
    return await (option as () => T | Promise<T>)();
  } catch (error) {
    throw isOutboxError(error)
      ? error
      : notConnected(`the function ${name} of rabbitmqPublisher failed`, error);
  }
}

function credentialsOf(given: RabbitmqCredentials | undefined): RabbitmqCredentials | undefined {
  if (given === undefined) return undefined;
  if (typeof given?.username === 'string' && typeof given.password === 'string') return given;
  throw new OutboxError(
    'INVALID_CONFIG',
    'rabbitmqPublisher: credentials must have a username and a password',
  );
}

/** amqplib decodes them as Latin-1; other characters would not arrive. */
function credentialsIn({ username, password }: URL): RabbitmqCredentials | undefined {
  if (username === '' && password === '') return undefined;
  return { username: decoded(username), password: decoded(password) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The mechanism PLAIN of SASL. */
function plain({ username, password }: RabbitmqCredentials): { mechanism: string; response(): Buffer } {
  return { mechanism: 'PLAIN', response: () => Buffer.from(`\0${username}\0${password}`) };
}
