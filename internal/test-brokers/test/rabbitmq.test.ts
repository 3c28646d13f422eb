import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { connect } from 'amqplib';
import { expect, it } from 'vitest';
import { hasRabbitmqServer, startRabbitmq } from '../src/rabbitmq.js';

const patience = { timeout: 120_000 };
const noBroker = !hasRabbitmqServer();
const suffix = noBroker ? ': no RabbitMQ to run on' : '';

it.skipIf(noBroker)(
  `a RabbitMQ that was killed has its messages when it is back${suffix}`,
  patience,
  async () => {
    const broker = await startRabbitmq();
    const before = await connect(broker.url);
    before.on('error', () => {});
    const channel = await before.createConfirmChannel();
    channel.on('error', () => {});
    await channel.assertQueue('kept', { durable: true });
    channel.sendToQueue('kept', Buffer.from('message'), { persistent: true });
    await channel.waitForConfirms();
    await broker.kill();
    expect(await isListening(broker.port)).toBe(false);
    await broker.start();
    const after = await connect(broker.url);
    const message = await (await after.createChannel()).get('kept', { noAck: true });
    expect(message).toMatchObject({ content: Buffer.from('message') });
    await after.close();
    await broker.close();
    expect(await isListening(broker.port)).toBe(false);
    expect(existsSync(broker.folder)).toBe(false);
  },
);

it.skipIf(noBroker)(
  `a RabbitMQ does not outlive the process that started it${suffix}`,
  patience,
  async () => {
    const program = fileURLToPath(new URL('./fixtures/forgetful-rabbitmq.mjs', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(signal).toBe('SIGKILL');
    const port = Number(output);
    expect(port).toBeGreaterThan(0);
    await expect.poll(() => isListening(port), { timeout: 10_000 }).toBe(false);
  },
);

async function isListening(port: number): Promise<boolean> {
  const socket = connectSocket(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
