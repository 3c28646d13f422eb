import { describe, expect, it } from 'vitest';
import { defaultsOfCode } from './option-defaults.js';
import { OptionTypes } from './option-types.js';
import { codeIn, tableUnder } from './tables.js';

const page = 'docs/reference/options.md';

/** The headings of the page, and the type that says which options there are. */
const sections = [
  { heading: 'OutboxModule.forRoot', package: 'core', type: 'OutboxModuleOptions' },
  { heading: 'backoff', package: 'core', type: 'BackoffOptions' },
  { heading: 'app.stop', package: 'core', type: 'StopOptions' },
  { heading: 'OutboxPgModule.forRoot', package: 'store-pg', type: 'OutboxPgModuleOptions' },
  { heading: 'OutboxTypeormModule.forRoot', package: 'store-typeorm', type: 'OutboxTypeormModuleOptions' },
  { heading: 'OutboxPrismaModule.forRoot', package: 'store-prisma', type: 'OutboxPrismaModuleOptions' },
  { heading: 'OutboxMemoryModule.forRoot', package: 'store-memory', type: 'OutboxMemoryModuleOptions' },
  { heading: 'OutboxEventsModule.forRoot', package: 'publisher-events', type: 'OutboxEventsModuleOptions' },
  { heading: 'OutboxSchedulerModule.forRoot', package: 'scheduler', type: 'OutboxSchedulerModuleOptions' },
  { heading: 'OutboxRetentionModule.forRoot', package: 'retention', type: 'OutboxRetentionOptions' },
  { heading: 'OutboxTelemetryModule.forRoot', package: 'telemetry', type: 'TelemetryOptions' },
  {
    heading: 'ScheduledMessagesModule.forRoot',
    package: 'scheduled-messages',
    type: 'ScheduledMessagesModuleOptions',
  },
  { heading: 'NestJS: OutboxModule.forRoot', package: 'nestjs', type: 'OutboxModuleOptions' },
  { heading: 'registerOutboxCommands', package: 'cli', type: 'RegisterOptions' },
];

const types = new OptionTypes([...new Set(sections.map((section) => section.package))]);
const defaults = defaultsOfCode();

/** As the page writes it: thousands apart, words in backticks. */
function written(value: number | string | boolean): string {
  if (value === Number.POSITIVE_INFINITY) return 'unlimited';
  return typeof value === 'number' ? value.toLocaleString('en') : `\`${value}\``;
}

describe.each(sections)('the options page, section $heading', (section) => {
  const rows = tableUnder(page, section.heading);
  const optionOf = ({ option }: (typeof rows)[number]): string => codeIn(option)[0] ?? '';

  it('lists every option, and no other', () => {
    const nested = [
      ...new Set(
        rows.map(optionOf).flatMap((name) => (name.includes('.') ? (name.split('.')[0] ?? []) : [])),
      ),
    ];
    const names = types.namesOf(section.package, section.type, nested);
    expect(rows.map(optionOf).sort()).toEqual(names.sort());
  });

  it('has the defaults of the code', () => {
    const values: Readonly<Record<string, number | string | boolean>> = defaults[section.heading] ?? {};
    const shown = Object.fromEntries(rows.map((row) => [optionOf(row), row.default]));
    expect(shown).toMatchObject(
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, written(value)])),
    );
  });

  it('has no value that the code does not have', () => {
    const known = Object.keys(defaults[section.heading] ?? {});
    const invented = rows.filter((row) => /^[`\d]/.test(row.default ?? '') && !known.includes(optionOf(row)));
    expect(invented.filter((row) => optionOf(row) !== 'jitter').map(optionOf)).toEqual([]);
  });
});
