import { readdirSync, readFileSync } from 'node:fs';
import type { DefaultTheme } from 'vitepress';

type Item = DefaultTheme.SidebarItem;

const docs = new URL('../', import.meta.url);

/** Grouped by the reader's moment: to begin, to understand, to deliver, to build, to run, to look up. */
export function sidebar(): Item[] {
  return [
    group('Start', false, [
      page('Ten minutes to the first message', '/start/'),
      page('With pg', '/start/pg'),
      page('With TypeORM', '/start/typeorm'),
      page('With Prisma', '/start/prisma'),
      page('Look at it, and let it fail', '/start/next'),
    ]),
    group('Concepts', false, [
      page('The problem', '/concepts/problem'),
      page('The states of a row', '/concepts/state-machine'),
      page('Claims and fences', '/concepts/claims'),
      page('Order', '/concepts/order'),
      page('What is promised', '/concepts/promises'),
      page('The worker', '/concepts/worker'),
      page('Inside the worker', '/concepts/inside-the-worker'),
      page('Workers and takeover', '/concepts/workers'),
      page('Words', '/concepts/words'),
      page('Alternatives', '/comparison'),
    ]),
    group('Publishers', false, [
      page('Webhooks', '/publishers/webhook'),
      page('RabbitMQ', '/publishers/rabbitmq'),
      page('NATS JetStream', '/publishers/nats'),
      page('Kafka', '/publishers/kafka'),
      page('Redis Streams', '/publishers/redis'),
      page('BullMQ', '/publishers/bullmq'),
      page('Events in the process', '/guides/events'),
      page('Your own publisher', '/guides/publishers'),
    ]),
    group('Guides', false, [
      page('pg', '/guides/pg'),
      page('TypeORM', '/guides/typeorm'),
      page('Prisma', '/guides/prisma'),
      page('Databases', '/guides/databases'),
      page('NestJS', '/guides/nestjs'),
      page('Retries', '/guides/retries'),
      page('Consume a message once', '/guides/idempotency'),
      page('Inbox', '/guides/inbox'),
      page('Scheduling', '/guides/scheduling'),
      page('Topics with types', '/guides/topics'),
      page('Testing', '/guides/testing'),
      page('In your container', '/guides/containers'),
      page('From a status column', '/guides/from-a-status-column'),
    ]),
    group('Operations', false, [
      page('The table and its upgrades', '/operations/schema'),
      page('Looking and repairing', '/operations/monitoring'),
      page('Dead letters', '/operations/dead-letters'),
      page('Retention', '/operations/retention'),
      page('Tuning', '/operations/tuning'),
      page('Telemetry and dashboards', '/operations/telemetry'),
      page('Faults and what they do', '/operations/faults'),
      page('Replication, failover and connections', '/operations/replication'),
      page('Runbook', '/operations/runbook'),
      page('What a message costs', '/operations/costs'),
      page('Performance', '/performance'),
    ]),
    group('Reference', false, [
      page('Options', '/reference/options'),
      page('Error codes', '/reference/errors'),
      page('Command line', '/reference/cli'),
      page('Metrics and spans', '/reference/metrics'),
      group('API', true, [page('All packages', '/reference/api/'), ...apiPages()]),
    ]),
    group('Decisions', true, [page('All of them', '/decisions/'), ...decisionPages()]),
  ];
}

function page(text: string, link: string): Item {
  return { text, link };
}

function group(text: string, collapsed: boolean, items: Item[]): Item {
  return { text, collapsed, items };
}

function apiPages(): Item[] {
  return readdirSync(new URL('../packages', docs)).map((name) => page(name, `/reference/api/${name}`));
}

function decisionPages(): Item[] {
  const index = readFileSync(new URL('decisions/README.md', docs), 'utf8');
  return [...index.matchAll(/^- \[(.+)\]\((.+)\.md\)$/gm)].map(([, title = '', name = '']) =>
    page(title, `/decisions/${name}`),
  );
}
