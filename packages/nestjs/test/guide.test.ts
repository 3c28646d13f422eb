import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { NestProcess } from './nest-process.js';

const fixture = usePostgres(({ query }) =>
  query('create table orders (id text primary key, status text not null)').then(() => {}),
);

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

describe('the guide', () => {
  it('shows what is run below', () => {
    const guide = read('../../../docs/guides/nestjs.md');
    const [, model = 'none'] = /```prisma\n([\s\S]*?)```/.exec(guide) ?? [];
    expect(read('../../store-prisma/test/schema.prisma')).toContain(model);
    const files = [...guide.matchAll(/```ts\n\/\/ (src\/\S+)\n([\s\S]*?)```/g)];
    expect(files.map(([, name = '']) => name)).toHaveLength(8);
    for (const [, name = '', text] of files)
      expect(text, name).toBe(read(name.replace('src/', './guide-app/')));
  });

  it('takes an order from a request to its confirmation, and stops', { timeout: 120_000 }, async () => {
    const environment = { DATABASE_URL: fixture.url, PORT: '0' };
    const shop = new NestProcess('./guide-app/main.ts', environment);
    const url = await shop.says(/listening on (\S+)/);
    const response = await fetch(`${url.replace('[::1]', 'localhost')}/orders/o1`, { method: 'POST' });
    expect(response.status).toBe(201);
    const isConfirmed = async (): Promise<boolean> =>
      (await fixture.query('select status from orders'))[0]?.status === 'confirmed at try 1';
    await vi.waitUntil(isConfirmed, { timeout: 30_000, interval: 50 });
    shop.signal('SIGTERM');
    expect(await shop.ended()).toBe('SIGTERM');

    const stats = new NestProcess('./guide-app/cli.ts', environment, ['outbox:stats']);
    expect(await stats.says(/^outbox:stats (.*)/)).toBe('pending=0 dispatched=1 dead=0 total=1');
    expect(await stats.ended()).toBe(0);
  });
});
