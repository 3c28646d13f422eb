import 'reflect-metadata';
import type { INestApplicationContext, LoggerService, ModuleMetadata, Provider } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type OutboxApp, OutboxDispatcher, type OutboxRow, OutboxStore } from '@postcommit/core';
import { OUTBOX_APP, OutboxEmitter, OutboxModule, type OutboxModuleOptions } from '@postcommit/nestjs';
import { MemoryOutboxStore, MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { onTestFinished } from 'vitest';

/** A module as Nest knows it, without a decorator. */
export function nestModule(metadata: ModuleMetadata, name = 'AppModule'): new () => object {
  const module = { [name]: class {} }[name] as new () => object;
  Module(metadata)(module);
  return module;
}

/** What was logged, one line each: `warn the text`. */
export class LogLines implements LoggerService {
  readonly lines: string[] = [];
  log = (message: unknown): void => this.#add('log', message);
  warn = (message: unknown): void => this.#add('warn', message);
  error = (message: unknown): void => this.#add('error', message);
  debug = (message: unknown): void => this.#add('debug', message);

  #add(level: string, message: unknown): void {
    this.lines.push(`${level} ${String(message)}`);
  }
}

/** An initialised application that is closed after the test. */
export async function openContext(
  metadata: ModuleMetadata,
  logger: LoggerService | false = false,
): Promise<INestApplicationContext> {
  const context = await NestFactory.createApplicationContext(nestModule(metadata), {
    logger,
    abortOnError: false,
  });
  onTestFinished(() => context.close());
  return context;
}

/** An application on a store in memory, with a virtual clock and without polling. */
export class MemoryNest {
  readonly clock = new VirtualClock();
  readonly store = new MemoryOutboxStore({ table: new MemoryTable(this.clock) });
  #context: INestApplicationContext | undefined;

  static async open(
    providers: Provider[],
    options: OutboxModuleOptions = {},
    logger: LoggerService | false = false,
    more: ModuleMetadata = {},
  ): Promise<MemoryNest> {
    const nest = new MemoryNest();
    const outbox = OutboxModule.forRoot({ store: nest.store, polling: { enabled: false }, ...options });
    nest.#context = await openContext(
      { ...more, imports: [outbox, ...(more.imports ?? [])], providers },
      logger,
    );
    return nest;
  }

  get context(): INestApplicationContext {
    if (!this.#context) throw new Error('not open');
    return this.#context;
  }

  get app(): OutboxApp {
    return this.context.get(OUTBOX_APP);
  }

  emit(
    ...[event, options]: [event: object, options?: Parameters<OutboxEmitter['emit']>[2]]
  ): Promise<string> {
    return this.store.transaction((tx) => this.context.get(OutboxEmitter).emit(tx, event, options));
  }

  dispatch(): ReturnType<OutboxDispatcher['dispatchPending']> {
    return this.context.get(OutboxDispatcher).dispatchPending();
  }

  rows(): Promise<OutboxRow[]> {
    return this.context.get(OutboxStore).peek({}, 1_000);
  }

  async row(): Promise<OutboxRow> {
    const [row, ...more] = await this.rows();
    if (!row || more.length > 0) throw new Error('there is not exactly one row');
    return row;
  }
}
