import { UnavailableError } from '@postcommit/core';
import { errorText } from '@postcommit/core/internal';
import { openLink } from '@postcommit/publisher-testkit';
import { type ChannelModel, connect } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher, type RabbitmqPublisherOptions } from '../src/index.js';
import { ownBroker, publish, reasonOf, row } from './broker.js';
import { TestExchange, through } from './rabbitmq-harness.js';

const broker = await ownBroker();
const suffix = broker ? '' : ': no RabbitMQ to run on';
const NOBODY = 'amqp://app:hidden@127.0.0.1:1';

describe.skipIf(!broker)(`connecting${suffix}`, () => {
  const url = broker?.url ?? '';
  const password = broker?.password ?? '';
  let test: TestExchange;
  const publishers: RabbitmqPublisher[] = [];

  beforeEach(async () => {
    test = await TestExchange.create(url);
  });

  afterEach(async () => {
    for (const publisher of publishers.splice(0)) await publisher.stop({});
    await test.close();
  });

  function create(options: Partial<RabbitmqPublisherOptions>): RabbitmqPublisher {
    const publisher = new RabbitmqPublisher({ exchange: test.exchange, ...options });
    publishers.push(publisher);
    return publisher;
  }

  async function expectDelivered(publisher: RabbitmqPublisher): Promise<void> {
    expect(await publish(publisher, [row()])).toEqual([{ status: 'fulfilled' }]);
  }

  it('takes the first of several URLs that answers', async () => {
    await expectDelivered(create({ url: [NOBODY, url] }));
  });

  it('goes on at another URL when the connection is cut', async () => {
    const link = await openLink({ host: '127.0.0.1', port: broker?.port ?? 0 });
    const publisher = create({ url: [through(link, url), url] });
    await expectDelivered(publisher);
    expect(link.connections).toBe(1);
    await link.close();
    await expect.poll(() => publish(publisher, [row()])).toEqual([{ status: 'fulfilled' }]);
  });

  it('says why no URL answers, without what is secret', async () => {
    const wrong = new URL(url);
    wrong.password = 'not-the-password';
    const reason = reasonOf((await publish(create({ url: [NOBODY, wrong.href] }), [row()]))[0]);
    expect(reason).toBeInstanceOf(UnavailableError);
    expect(reason.isCertain).toBe(true);
    const text = errorText(reason);
    expect(text).toContain('ECONNREFUSED');
    expect(text).toContain('ACCESS_REFUSED');
    for (const secret of ['hidden', 'not-the-password', password]) expect(text).not.toContain(secret);
  });

  it('calls the function url and the function credentials at each connect', async () => {
    const asked: string[] = [];
    const passwords = ['expired', password, password];
    const publisher = create({
      url: () => {
        asked.push('url');
        return url;
      },
      credentials: async () => {
        asked.push('credentials');
        return { username: 'app', password: passwords.shift() ?? '' };
      },
    });
    expect(reasonOf((await publish(publisher, [row()]))[0])).toBeInstanceOf(UnavailableError);
    await expectDelivered(publisher);
    await publisher.stop({});
    await expectDelivered(publisher);
    expect(asked).toEqual(['url', 'credentials', 'url', 'credentials', 'url', 'credentials']);
  });

  it('waits for credentials that can not be had', async () => {
    const publisher = create({ url, credentials: () => Promise.reject(new Error('the vault is sealed')) });
    await expect(publisher.start()).rejects.toMatchObject({ unavailable: true, isCertain: true });
  });

  it('takes a user and password of any characters from the URL', { timeout: 60_000 }, async () => {
    await broker?.control('add_user', 'ё@', 'пароль/%');
    await broker?.control('set_permissions', 'ё@', '.*', '.*', '.*');
    const other = new URL(url);
    other.username = encodeURIComponent('ё@');
    other.password = encodeURIComponent('пароль/%');
    await expectDelivered(create({ url: other.href }));
  });

  it('opens what the function connect opens, and closes it', async () => {
    let client: ChannelModel | undefined;
    let isClosed = false;
    const publisher = create({
      connect: async (socketOptions) => {
        client = await connect(url, socketOptions);
        client.on('close', () => {
          isClosed = true;
        });
        return client;
      },
    });
    await expectDelivered(publisher);
    await publisher.stop({});
    expect(client).toBeDefined();
    expect(isClosed).toBe(true);
  });

  it('has a heartbeat of 10 s, unless the URL says otherwise', async () => {
    expect(await create({ url }).check()).toEqual([]);
    const [problem] = await create({ url: `${url}?heartbeat=60` }).check();
    expect(problem).toMatchObject({ level: 'warning' });
    expect(problem?.problem).toContain('60 s');
  });

  it('leaves a client of the application open, and without its listeners', async () => {
    const client = await connect(url);
    const publisher = create({ client });
    await expectDelivered(publisher);
    const names = ['blocked', 'unblocked', 'close', 'error'];
    await publisher.stop({});
    expect(names.map((name) => client.listenerCount(name))).toEqual([0, 0, 0, 0]);
    await (await client.createChannel()).close();
    await client.close();
  });

  it('says that the broker is away if the client of the application is closed', async () => {
    const client = await connect(url);
    await client.close();
    const reason = reasonOf((await publish(create({ client }), [row()]))[0]);
    expect(reason).toBeInstanceOf(UnavailableError);
  });
});
