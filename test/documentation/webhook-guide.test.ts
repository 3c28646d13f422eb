import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { afterEach, expect, it, vi } from 'vitest';
import { isGenuine } from '../../examples/webhook/src/signature.js';
import { RecordingServer } from '../../packages/publisher-webhook/test/recording-server.js';
import { blocksOf, root } from './pages.js';

const OLD = `whsec_${'b2xk'.repeat(8)}`;
const NEW = `whsec_${'bmV3'.repeat(8)}`;

afterEach(() => void vi.useRealTimers());

/** What arrives while secrets are rotated. */
async function received(): Promise<Parameters<typeof isGenuine>[1]> {
  const server = await RecordingServer.open();
  const publisher = webhookPublisher({ url: server.url, secret: [NEW, OLD] });
  const fields = { id: 'row-1', topic: 'order.paid', payload: { customer: 'Zoë' }, headers: {}, retry: {} };
  const times = { createdAt: new Date(), availableAt: new Date(), attempts: 0, retakes: 0 };
  await publisher.publish({ ...fields, ...times }, { attempt: 1, signal: new AbortController().signal });
  await server.close();
  const [{ headers, body } = { headers: {}, body: '' }] = server.requests;
  const header = (name: string): string => headers[name as keyof typeof headers] ?? '';
  const signature = header('webhook-signature');
  return { id: header('webhook-id'), timestamp: header('webhook-timestamp'), signature, body: String(body) };
}

it('the guide on webhooks shows how its example checks signatures', () => {
  const source = readFileSync(join(root, 'examples/webhook/src/signature.ts'), 'utf8');
  const [, code] = /\/\/ #region guide\n([\s\S]*?)\/\/ #endregion/.exec(source) ?? [];
  const blocks = blocksOf('docs/publishers/webhook.md').map((block) => block.code);
  expect(blocks).toContain(code);
});

it('that check accepts what the publisher sends, with either secret of a rotation', async () => {
  const signed = await received();
  expect(isGenuine(OLD, signed)).toBe(true);
  expect(isGenuine(NEW, signed)).toBe(true);
});

it('that check refuses another secret, another message, and an old request', async () => {
  const signed = await received();
  expect(isGenuine(`whsec_${'b3Ro'.repeat(8)}`, signed)).toBe(false);
  for (const change of [{ id: 'row-2' }, { body: '{}' }, { signature: '' }, { signature: 'v1,AAAA' }]) {
    expect(isGenuine(OLD, { ...signed, ...change }), JSON.stringify(change)).toBe(false);
  }
  for (const timestamp of [`${Number(signed.timestamp) + 1}`, '', 'now']) {
    expect(isGenuine(OLD, { ...signed, timestamp }), timestamp).toBe(false);
  }
  vi.useFakeTimers({ now: Date.now() + 6 * 60_000 });
  expect(isGenuine(OLD, signed)).toBe(false);
});
