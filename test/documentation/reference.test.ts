import { readFileSync } from 'node:fs';
import { OutboxCliModule, registerOutboxCommands } from '@postcommit/cli';
import { composeModules, OutboxModule } from '@postcommit/core';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { OUTBOX_ATTRIBUTES, OUTBOX_METRICS, OUTBOX_SPANS } from '@postcommit/telemetry';
import { Command } from 'commander';
import { DataSource } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { NO_LISTENER_METRIC } from '../../packages/scheduled-messages/src/no-listener-counter.js';
import { blocksOf, pageNames, readPage, root } from './pages.js';
import { codeIn, tableUnder } from './tables.js';

/** Every command, as the `outbox` binary has them. Nothing connects. */
function program(): Command {
  const app = composeModules([
    OutboxModule,
    OutboxTypeormModule.forRoot({ dataSource: new DataSource({ type: 'postgres' }) }),
    OutboxCliModule,
  ]);
  const outbox = new Command('outbox').option('--config <path>');
  registerOutboxCommands(outbox, app, { shortNames: true });
  return outbox;
}

const commands = program().commands;
const common = ['--plain', '--json', '--verbose'];

describe('the page of the command line', () => {
  const page = 'docs/reference/cli.md';

  it('lists every command', () => {
    const listed = tableUnder(page, 'Commands').flatMap(({ command, option }) => codeIn(command ?? option));
    expect(listed.filter((name) => name.startsWith('outbox:')).sort()).toEqual(
      commands.map((command) => command.name()).sort(),
    );
    for (const flag of common) expect(readPage(page)).toContain(`| \`${flag}\` `);
  });

  it.each(commands.map((command) => [command.name(), command] as const))(
    'lists the options of %s with their defaults',
    (name, command) => {
      const own = command.options.filter(({ long }) => !common.includes(long ?? ''));
      const shown = tableUnder(page, name);
      expect(shown.map(({ option }) => codeIn(option)[0]).sort()).toEqual(
        own.map(({ flags }) => flags).sort(),
      );
      for (const { flags, defaultValue, mandatory } of own) {
        const cell = shown.find(({ option }) => option?.includes(flags))?.default;
        if (mandatory) expect(cell, flags).toBe('required');
        if (typeof defaultValue === 'number') expect([String(defaultValue), '5m'], flags).toContain(cell);
      }
    },
  );
});

describe('a shell block on any page', () => {
  const lines = pageNames()
    .flatMap(blocksOf)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ page, code }) => code.split('\n').map((line) => ({ page, line })))
    .map(({ page, line }) => ({ page, line: line.replace(/\s+#.*$/, '').trim() }))
    .filter(({ line }) => /^(npx )?outbox /.test(line));

  it('exists', () => expect(lines.length).toBeGreaterThan(20));

  it.each(lines)('calls an existing command with existing options: $line', ({ line }) => {
    const [name = '', ...words] = line.replace(/^(npx )?outbox /, '').split(' ');
    const command = commands.find((known) => known.name() === name || known.aliases().includes(name));
    expect(command?.name(), line).toBeDefined();
    const flags = words.filter((word) => word.startsWith('--'));
    expect(command?.options.map(({ long }) => long)).toEqual(expect.arrayContaining(flags));
  });
});

describe('the page of error codes', () => {
  it('has every code, and no other', () => {
    const source = readFileSync(`${root}/packages/core/src/message/errors.ts`, 'utf8');
    const [union = ''] = /type OutboxErrorCode =[\s\S]*?;/.exec(source) ?? [];
    const codes = [...union.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(10);
    const rows = tableUnder('docs/reference/errors.md', 'Error codes');
    expect(rows.map(({ code }) => codeIn(code)[0]).sort()).toEqual(codes.sort());
    for (const { code, cause, cure } of rows) expect([cause, cure], code).not.toContain('');
  });
});

it('the page of the worker has every event, and no other', () => {
  const source = readFileSync(`${root}/packages/core/src/observe/dispatch-events.ts`, 'utf8');
  const [map = ''] = /interface DispatchEventMap \{[\s\S]*?\n\}/.exec(source) ?? [];
  const events = [...map.matchAll(/^ {2}readonly (\w+):/gm)].map(([, name]) => name);
  const shown = tableUnder('docs/concepts/worker.md', 'Events').flatMap(({ event }) => codeIn(event));
  expect(shown.sort()).toEqual(events.sort());
});

describe('the page inside the worker', () => {
  const page = 'docs/concepts/inside-the-worker.md';
  const shown = (heading: string): (string | undefined)[] =>
    tableUnder(page, heading).map(({ phase, event }) => codeIn(phase ?? event)[0]);
  const namesIn = (file: string, type: RegExp, name: RegExp): (string | undefined)[] => {
    const [union = ''] = type.exec(readFileSync(`${root}/packages/core/src/${file}`, 'utf8')) ?? [];
    return [...union.matchAll(name)].map(([, found]) => found);
  };

  it.each([
    ['The phases', 'dispatch/rows-in-flight.ts', /type RowPhase =[^;]*;/, /'(\w+)'/g],
    ['Events of the inbox', 'worker/worker-event.ts', /type WorkerEvent =[\s\S]*/, /kind: '(\w+)'/g],
    ['The phases of a stop', 'worker/worker-stop.ts', /type StopPhase =[^;]*;/, /'(\w+)'/g],
  ] as const)('has all of them, and no other: %s', (heading, file, type, name) => {
    const names = namesIn(file, type, name);
    expect(names.length).toBeGreaterThan(3);
    expect(shown(heading).sort()).toEqual(names.sort());
  });
});

it('the runbook names existing alerts', () => {
  const alerts = readFileSync(`${root}/docs/operations/alerts.yaml`, 'utf8');
  const named = [...readPage('docs/operations/runbook.md').matchAll(/^Alerts? (.*?)[.;]/gm)].flatMap(
    ([, names]) => codeIn(names),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !alerts.includes(`- alert: ${name}\n`))).toEqual([]);
});

describe('the page of metrics', () => {
  const page = 'docs/reference/metrics.md';

  it('has every metric with its unit, and no other', () => {
    const shown = tableUnder(page, 'Metrics').map(({ metric, unit }) => [codeIn(metric)[0], codeIn(unit)[0]]);
    const emitted = Object.values(OUTBOX_METRICS).map(({ name, unit }) => [name, unit]);
    expect(shown.sort()).toEqual(emitted.sort());
    expect(readPage(page)).toContain(`\`${NO_LISTENER_METRIC}\``);
  });

  it('lists as histograms the metrics with buckets', () => {
    const histograms = Object.values(OUTBOX_METRICS).flatMap((metric) =>
      'buckets' in metric ? metric.name : [],
    );
    const shown = tableUnder(page, 'Metrics').filter(({ kind }) => kind === 'histogram');
    expect(shown.flatMap(({ metric }) => codeIn(metric)).sort()).toEqual(histograms.sort());
  });

  it('has every span and attribute, and no other', () => {
    expect(tableUnder(page, 'Spans').flatMap(({ span }) => codeIn(span))).toEqual(
      Object.values(OUTBOX_SPANS),
    );
    expect(
      tableUnder(page, 'Attributes')
        .flatMap(({ attribute }) => codeIn(attribute))
        .sort(),
    ).toEqual(Object.values(OUTBOX_ATTRIBUTES).sort());
  });
});
