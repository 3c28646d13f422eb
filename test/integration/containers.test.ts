import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Module as NestModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  composeModules,
  OutboxDispatcher,
  OutboxModule,
  OutboxPublisher,
  type OutboxRow,
  OutboxStore,
} from '@postcommit/core';
import { MemoryOutboxStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { Container } from 'inversify';
import { describe, expect, it } from 'vitest';

const published: string[] = [];

class Recorder extends OutboxPublisher {
  async publish({ topic }: OutboxRow): Promise<void> {
    published.push(topic);
  }
}

function compose() {
  published.length = 0;
  return composeModules([OutboxModule, OutboxMemoryModule], {
    preferences: [{ provide: OutboxPublisher, useClass: Recorder }],
  });
}

/** The container's own instances are those of the application, and they work together. */
async function works(get: <T>(token: abstract new (...args: never[]) => T) => T): Promise<void> {
  expect(get(OutboxStore)).toBe(get(MemoryOutboxStore));
  await get(OutboxStore).enqueue({ topic: 'order.paid', payload: 1 });
  expect(await get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
  expect(published).toEqual(['order.paid']);
}

it('the guide shows the code that is tested here', () => {
  const here = readFileSync(new URL(import.meta.url), 'utf8');
  const guide = readFileSync(new URL('../../docs/guides/containers.md', import.meta.url), 'utf8');
  const regions = [...here.matchAll(/#region \w+\n([\s\S]*?) *\/\/ #endregion/g)].map(([, code = '']) =>
    code.trim(),
  );
  const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code.trim());
  expect(blocks).toEqual(regions);
});

describe('one loop over app.tokens hosts an application in', () => {
  it('NestJS', async () => {
    const app = compose();

    // #region nestjs
    const providers = app.tokens.map((token) => ({ provide: token, useFactory: () => app.get(token) }));
    // #endregion

    class AppModule {}
    NestModule({ providers })(AppModule);
    const nest = await NestFactory.createApplicationContext(AppModule, { logger: false });
    await works((token) => nest.get(token as never));
    await nest.close();
  });

  it('Inversify', async () => {
    const app = compose();
    const container = new Container();

    // #region inversify
    for (const token of app.tokens) container.bind(token).toDynamicValue(() => app.get(token));
    // #endregion

    await works((token) => container.get(token as never));
  });
});
