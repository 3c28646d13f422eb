import { CommandError, type OutboxCommand, OutboxCommands, registerOutboxCommands } from '@postcommit/cli';
import {
  composeModules,
  type Lifecycle,
  Lifecycles,
  type Module,
  OutboxModule,
  OutboxSchema,
  PermanentError,
  routePublisher,
  UnavailableError,
} from '@postcommit/core';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { CommandLine } from './command-line.js';

const entry = { topic: 'order.paid', payload: { card: '4111' } };

function contributing(command: Partial<OutboxCommand>): Module {
  const whole = { name: 'orders:check', description: 'Checks', run: async () => {}, ...command };
  return { name: 'OrdersModule', contributes: [{ to: OutboxCommands, useValue: whole }] };
}

describe('in the application’s own program', () => {
  it('dispatches one batch', async () => {
    const line = new CommandLine();
    await line.store.enqueue(Array.from({ length: 12 }, () => entry));
    expect(await line.run('outbox:dispatch')).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=12 dispatched=12 failed=0 dead=0\n',
      stderr: '',
    });
  });

  it('dispatches the given number of rows, or all of them in a loop', async () => {
    const line = new CommandLine();
    await line.store.enqueue(Array.from({ length: 120 }, () => entry));
    expect((await line.run('outbox:dispatch', '--limit', '10')).stdout).toContain('fetched=10 dispatched=10');
    expect((await line.run('outbox:dispatch', '--loop')).stdout).toBe(
      'outbox:dispatch fetched=110 dispatched=110 failed=0 dead=0\n',
    );
  });

  it('loops until a row that always fails is dead, if attempts are limited', async () => {
    const line = new CommandLine([], {
      outbox: { publisher: () => Promise.reject(new Error('down')), maxAttempts: 10 },
    });
    await line.store.enqueue(Array.from({ length: 60 }, () => entry));
    expect(await line.run('outbox:dispatch', '--loop')).toMatchObject({
      code: 0,
      stdout: 'outbox:dispatch fetched=600 dispatched=0 failed=540 dead=60\n',
    });
  });

  it('does not loop forever over rows that always fail, and reaches the rows behind them', async () => {
    const publisher = async ({ topic }: { topic: string }): Promise<void> => {
      if (topic === 'broken') throw new Error('down');
    };
    const line = new CommandLine([], { outbox: { publisher, batchSize: 5 } });
    await line.store.enqueue([
      ...Array.from({ length: 30 }, () => ({ topic: 'broken', payload: 1 })),
      ...Array.from({ length: 10 }, () => entry),
      // Rows that are not due must not prolong it.
      ...Array.from({ length: 400 }, () => ({ ...entry, availableAt: new Date(Date.now() + 3_600_000) })),
    ]);
    const { code, stdout, stderr } = await line.run('outbox:dispatch', '--loop');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'outbox:dispatch: gave up: the remaining due rows keep failing\n',
    });
    expect(stdout).toContain('dispatched=10');
    expect(Number(/fetched=(\d+)/.exec(stdout)?.[1])).toBeLessThan(30 * 25);
    expect(await line.store.count()).toMatchObject({ pending: 430, dispatched: 10 });
  });

  it('counts the rows of a destination that is away, and a loop ends with exit code 1', async () => {
    const publisher = async ({ topic }: { topic: string }): Promise<void> => {
      if (topic === 'away') throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const routed = routePublisher({ away: publisher, '*': async () => {} });
    const line = new CommandLine([], { outbox: { publisher: routed } });
    await line.store.enqueue([...Array.from({ length: 60 }, () => ({ ...entry, topic: 'away' })), entry]);
    const { code, stdout, stderr } = await line.run('outbox:dispatch', '--loop');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "outbox:dispatch: gave up: only rows of destinations that are away are left: 'away'\n",
    });
    expect(stdout).toBe('outbox:dispatch fetched=51 dispatched=1 failed=0 dead=0 unavailable=50\n');
  });

  it('shows rows of a destination that is away as JSON and in a table, without failing', async () => {
    const publisher = (): Promise<void> => Promise.reject(new UnavailableError('maintenance'));
    for (const format of ['--json', undefined]) {
      const line = new CommandLine([], { outbox: { publisher }, isTTY: format === undefined });
      await line.store.enqueue([entry, entry]);
      const { code, stdout } = await line.run('outbox:dispatch', ...(format ? [format] : []));
      expect(code).toBe(0);
      if (format)
        expect(JSON.parse(stdout)).toEqual({
          ...{ fetched: 2, dispatched: 0, failed: 0, dead: 0, fenced: 0 },
          unavailable: 2,
        });
      else expect(stdout).toMatch(/FETCHED +DISPATCHED +FAILED +DEAD +UNAVAILABLE\n2 +0 +0 +0 +2\n/);
    }
  });

  it('ends a loop with exit code 1 before it is certain that the only destination is away', async () => {
    const publisher = (): Promise<void> => Promise.reject(new UnavailableError('maintenance'));
    const line = new CommandLine([], { outbox: { publisher } });
    await line.store.enqueue(entry);
    expect(await line.run('outbox:dispatch', '--loop')).toEqual({
      code: 1,
      stdout: 'outbox:dispatch fetched=1 dispatched=0 failed=0 dead=0 unavailable=1\n',
      stderr: 'outbox:dispatch: gave up: only rows of destinations that are away are left\n',
    });
  });

  it('rejects dispatching without a publisher, and runs other commands', async () => {
    const line = new CommandLine([], { outbox: {} });
    const { code, stdout, stderr } = await line.run('outbox:dispatch');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^outbox:dispatch: no publisher: add one in the config.*\n$/);
    expect(await line.run('outbox:stats')).toMatchObject({ code: 0 });
  });

  it('reports lost claims', async () => {
    const line: CommandLine = new CommandLine([], {
      outbox: { publisher: async ({ id }) => void (await line.store.requeue(id)) },
    });
    await line.store.enqueue(entry);
    expect(await line.run('outbox:dispatch')).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=1 dispatched=0 failed=0 dead=0\n',
      stderr: 'outbox:dispatch: 1 claims were lost before their outcome could be recorded\n',
    });
  });

  it('leaves no signal handler behind', async () => {
    const before = process.listenerCount('SIGINT');
    await new CommandLine().run('outbox:dispatch', '--loop');
    expect(process.listenerCount('SIGINT')).toBe(before);
  });

  it('ends on SIGTERM after the current batch', async () => {
    const publisher = async (): Promise<void> => void process.emit('SIGTERM', 'SIGTERM');
    const line = new CommandLine([], { outbox: { batchSize: 1, publisher } });
    await line.store.enqueue([entry, entry, entry]);
    expect(await line.run('outbox:dispatch', '--loop')).toEqual({
      code: 143,
      stdout: 'outbox:dispatch fetched=1 dispatched=1 failed=0 dead=0\n',
      stderr:
        'outbox:dispatch: finishing this batch (press Ctrl-C again to abort)\noutbox:dispatch: interrupted\n',
    });
  });

  it('has only the commands whose capability is bound', async () => {
    const schema = { print: () => 'create table outbox;', ensure: async () => {}, check: async () => [] };
    const bound: Module = { name: 'SchemaModule', provides: [{ provide: OutboxSchema, useValue: schema }] };
    expect(await new CommandLine().run('outbox:schema')).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'outbox:schema'\n",
    });
    expect(await new CommandLine([bound]).run('outbox:schema')).toMatchObject({
      code: 0,
      stdout: 'create table outbox;\n',
    });
    expect(await new CommandLine().run('outbox:doctor')).toMatchObject({ code: 0 });
  });

  it('runs commands that other modules contribute, with their exit codes', async () => {
    const line = new CommandLine([
      contributing({
        configure: (command) => void command.argument('<order>').option('--dry-run'),
        run: async ({ args, options, output }) => {
          output.show({ plain: [`checked ${args[0]} \u001b[31m`], json: { dryRun: options.dryRun } });
          throw new CommandError('not paid', 42);
        },
      }),
    ]);
    expect(await line.run('orders:check', '7')).toEqual({
      code: 42,
      stdout: 'checked 7 \\u001b[31m\n',
      stderr: 'orders:check: not paid\n',
    });
    expect((await line.run('orders:check', '7', '--dry-run', '--json')).stdout).toBe('{"dryRun":true}\n');
  });

  it('rejects a registration without commands', () => {
    const app = composeModules([OutboxModule, OutboxMemoryModule]);
    expect(() => registerOutboxCommands(new Command(), app)).toThrow('add OutboxCliModule');
  });

  it('does not conflict with short names', async () => {
    expect(await new CommandLine().run('stats')).toMatchObject({ code: 2 });
    expect(await new CommandLine([], { shortNames: true }).run('stats')).toMatchObject({ code: 0 });
  });
});

describe('invalid arguments', () => {
  it.each([
    [['outbox:stats', '--nope']],
    [['outbox:stats', 'excess']],
    [['outbox:stats', '--json', '--plain']],
    [['outbox:list', '--state', 'asleep']],
    [['outbox:list', '--limit', '0']],
    [['outbox:list', '--limit', 'ten']],
    [['outbox:list', '--limit']],
    [['outbox:list', '--reason', 'because']],
    [['outbox:list', '--created-after', 'yesterday']],
    [['outbox:list', '--topic']],
    [['outbox:dispatch', '--limit', '-1']],
    [['outbox:dispatch', '--limit', '1.5']],
    [['outbox:retry']],
    [['outbox:retry', 'a', 'b']],
    [['outbox:retry', 'a', '--topic', 't']],
    [['outbox:retry', 'a', '--dry-run']],
    [['outbox:retry', '--dry-run']],
    [['outbox:discard']],
    [['outbox:discard', 'a', '--topic', 't']],
    [['outbox:discard', 'a', '--dry-run']],
    [['outbox:discard', '--state', 'pending']],
    [['outbox:purge']],
    [['outbox:purge', '--older-than', '7']],
    [['outbox:doctor', '--transaction-age', 'long']],
  ])('%j is refused in one line, and nothing is done', async (args) => {
    const line = new CommandLine();
    await line.store.enqueue({ ...entry, id: 'a' });
    await line.store.cancel('a');
    const { code, stdout, stderr } = await line.run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^.+\n$/);
    expect(await line.store.count()).toMatchObject({ dead: 1, total: 1 });
  });
});

describe('resources', () => {
  const lifecycle = (log: string[], name: string, parts: Partial<Lifecycle> = {}): Lifecycle => ({
    name,
    start: () => void log.push(`${name} starts`),
    stop: () => void log.push(`${name} stops`),
    ...parts,
  });
  const moduleOf = (...lifecycles: Lifecycle[]): Module => ({
    name: 'ResourcesModule',
    contributes: lifecycles.map((useValue) => ({ to: Lifecycles, useValue })),
  });
  const logging = (log: string[]): Module =>
    moduleOf(
      lifecycle(log, 'worker'),
      lifecycle(log, 'a', { phase: 'resource' }),
      lifecycle(log, 'b', { phase: 'resource' }),
    );

  it('are open while a command runs, and nothing else is started', async () => {
    const log: string[] = [];
    const run = async (): Promise<void> => void log.push('runs');
    await new CommandLine([logging(log), contributing({ run })]).run('orders:check');
    expect(log).toEqual(['a starts', 'b starts', 'runs', 'b stops', 'a stops']);
  });

  it('are closed after a command that fails', async () => {
    const log: string[] = [];
    const { code } = await new CommandLine([logging(log)]).run('outbox:retry', 'unknown');
    expect({ code, log }).toEqual({ code: 1, log: ['a starts', 'b starts', 'b stops', 'a stops'] });
  });

  it('are not touched if the application started them, or the command needs none', async () => {
    const log: string[] = [];
    await new CommandLine([logging(log)], { managesResources: false }).run('outbox:stats');
    await new CommandLine([logging(log), contributing({ needsResources: false })]).run('orders:check');
    expect(log).toEqual([]);
  });

  it('that can’t be opened or closed are reported, and the others closed', async () => {
    const log: string[] = [];
    const broken = (text: string) => () => Promise.reject(new Error(text));
    const openable = lifecycle(log, 'a', { phase: 'resource' });
    const unopenable = lifecycle(log, 'b', { phase: 'resource', start: broken('no route') });
    expect(await new CommandLine([moduleOf(openable, unopenable)]).run('outbox:stats')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'outbox:stats: no route\n',
    });
    const unclosable = lifecycle(log, 'c', { phase: 'resource', stop: broken('stuck') });
    expect(await new CommandLine([moduleOf(openable, unclosable)]).run('outbox:stats')).toMatchObject({
      code: 1,
      stderr: 'outbox:stats: stuck\n',
    });
    expect(log).toEqual(['a starts', 'a stops', 'a starts', 'c starts', 'a stops']);
  });
});

describe('on a terminal', () => {
  it('shows tables, or plain lines on request', async () => {
    const line = new CommandLine([], { isTTY: true });
    expect((await line.run('outbox:stats')).stdout).toBe(
      'PENDING  DISPATCHED  DEAD  TOTAL\n0        0           0     0\n',
    );
    expect((await line.run('outbox:stats', '--plain')).stdout).toBe(
      'outbox:stats pending=0 dispatched=0 dead=0 total=0\n',
    );
    expect((await line.run('outbox:list')).stdout).toBe('no rows\n');
  });

  it('shows progress in a loop, and clears it at the end', async () => {
    const line = new CommandLine([], {
      isTTY: true,
      outbox: {
        publisher: async ({ topic }) => {
          if (topic === 'broken') throw new PermanentError('no');
        },
        batchSize: 1,
      },
    });
    await line.store.enqueue([entry, { topic: 'broken', payload: 1 }]);
    const { stdout } = await line.run('outbox:dispatch', '--loop');
    expect(stdout.split('\r').slice(1, 3)).toEqual([
      `[${'#'.repeat(20)}${'-'.repeat(20)}] 50% 1/2 failed=0 dead=0\u001b[K`,
      `[${'#'.repeat(40)}] 100% 2/2 failed=0 dead=1\u001b[K`,
    ]);
    expect(stdout.split('\r').at(-1)).toContain('\u001b[KFETCHED  DISPATCHED');
  });
});
