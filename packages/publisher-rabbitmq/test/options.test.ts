import { isOutboxError } from '@postcommit/core';
import { expect, it } from 'vitest';
import { OutboxRabbitmqModule, type RabbitmqPublisherOptions, rabbitmqPublisher } from '../src/index.js';

const url = 'amqp://app:hidden@127.0.0.1';
const sound = { url, exchange: 'events' };

function problemOf(options: object): string {
  for (const make of [rabbitmqPublisher, OutboxRabbitmqModule.forRoot]) {
    try {
      make(options as RabbitmqPublisherOptions);
    } catch (error) {
      if (!isOutboxError(error) || error.code !== 'INVALID_CONFIG') throw error;
      expect(error.message).not.toContain('hidden');
      return error.message;
    }
  }
  throw new Error('the options were accepted');
}

it.each([
  { what: 'an unknown name', options: { ...sound, exchnage: 'events' }, text: 'exchnage' },
  { what: 'no source', options: { exchange: 'events' }, text: 'exactly one of url, connect and client' },
  {
    what: 'two sources',
    options: { ...sound, connect: async () => {} },
    text: 'exactly one of url, connect and client',
  },
  {
    what: 'a URL of another protocol',
    options: { ...sound, url: 'http://app:hidden@host' },
    text: 'url must be',
  },
  { what: 'a URL that is none', options: { ...sound, url: 'app:hidden@host' }, text: 'url must be' },
  { what: 'an empty list of URLs', options: { ...sound, url: [] }, text: 'empty list' },
  { what: 'a client that is none', options: { client: {}, exchange: 'events' }, text: 'client must be' },
  {
    what: 'a connect that is no function',
    options: { connect: url, exchange: 'events' },
    text: 'connect must be',
  },
  {
    what: 'credentials without a URL',
    options: { connect: async () => {}, credentials: () => {}, exchange: 'events' },
    text: 'need url',
  },
  { what: 'no exchange', options: { url }, text: 'exchange must be' },
  {
    what: 'an exchange that is too long',
    options: { url, exchange: 'e'.repeat(256) },
    text: 'exchange must be',
  },
  { what: 'a routing key that is no function', options: { ...sound, routingKey: 'key' }, text: 'routingKey' },
  { what: 'an encoder that is no function', options: { ...sound, encode: true }, text: 'encode' },
  {
    what: 'an unknown policy',
    options: { ...sound, unroutable: 'dead' },
    text: "'unavailable' or 'permanent'",
  },
  {
    what: 'CloudEvents without a source',
    options: { ...sound, cloudEvents: {} },
    text: 'cloudEvents.source',
  },
  { what: 'a time-out of 0', options: { ...sound, confirmTimeoutMs: 0 }, text: 'confirmTimeoutMs' },
  {
    what: 'a time-out that is none',
    options: { ...sound, connectTimeoutMs: '5s' },
    text: 'connectTimeoutMs',
  },
  { what: 'half a heartbeat', options: { ...sound, heartbeatSeconds: 0.5 }, text: 'heartbeatSeconds' },
  { what: 'a typing error in declare', options: { ...sound, declare: { queue: {} } }, text: 'queue' },
])('refuses $what', ({ options, text }) => {
  expect(problemOf(options)).toContain(text);
});

it.each([
  { what: 'a URL', options: sound },
  { what: 'several URLs', options: { ...sound, url: [url, 'amqps://[::1]:5671/%2Fshop'] } },
  {
    what: 'functions',
    options: { ...sound, url: () => url, credentials: () => ({ username: 'a', password: 'b' }) },
  },
  { what: 'the default exchange', options: { ...sound, exchange: '' } },
  { what: 'options that are undefined', options: { ...sound, declare: undefined, routingKey: undefined } },
])('takes $what without connecting', ({ options }) => {
  expect(rabbitmqPublisher(options).name).toBe('rabbitmq');
});
