import { parseArgs } from 'node:util';
import type { Form } from './arena.js';

export interface ChaosArguments {
  readonly form: Form;
  readonly rounds: number;
  /** Rounds are repeated until then, at least once. */
  readonly minutes: number | undefined;
  readonly seed: number;
  /** Only scenarios whose group or name has all of these words. */
  readonly only: readonly string[];
  readonly atOnce: number;
  readonly help: boolean;
  /** Kills brokers instead. The words are then their names. */
  readonly brokers: { readonly rows: number; readonly hits: number } | undefined;
}

/** One that is wrong; the message says which and what it may be. */
export class BadArgument extends Error {}

export const USAGE = `Usage: npm run chaos -- [options] [words], or pnpm chaos [options] [words]

  words              only faults whose group or name has all of these words
  --only words       the same
  --rounds n         how often each is done, default 2
  --minutes n        instead: goes on for so long, once at least
  --seed n           repeats what another run has drawn
  --at-once n        so many side by side, default 4
  --short            fewer messages and no slow ones, as with the tests
  --brokers          kills brokers instead, while rows are published to them; words: rabbitmq, nats, kafka
  --rows n           with --brokers: so many rows to each, default 100000
  --hits n           with --brokers: so many kills of each, default 10
  --help

0: every promise held. 1: one did not. 2: a bad option. A whole run without --short writes docs/operations/faults.md.`;

export function readArguments(args: readonly string[]): ChaosArguments {
  const { values, positionals } = parse(args);
  return {
    help: values.help,
    form: values.short ? 'short' : 'long',
    rounds: fromOne('--rounds', values.rounds),
    minutes: values.minutes === undefined ? undefined : fromOne('--minutes', values.minutes),
    seed: whole('--seed', values.seed),
    only: [values.only, ...positionals].join(' ').toLowerCase().split(/\s+/).filter(Boolean),
    atOnce: fromOne('--at-once', values['at-once']),
    brokers: values.brokers
      ? { rows: fromOne('--rows', values.rows), hits: fromOne('--hits', values.hits) }
      : undefined,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      // pnpm hands on the dashes that separate its options from ours.
      args: args.filter((argument) => argument !== '--'),
      allowPositionals: true,
      options: {
        short: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '2' },
        minutes: { type: 'string' },
        seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
        only: { type: 'string', default: '' },
        'at-once': { type: 'string', default: '4' },
        brokers: { type: 'boolean', default: false },
        rows: { type: 'string', default: '100000' },
        hits: { type: 'string', default: '10' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new BadArgument(error instanceof Error ? error.message : String(error));
  }
}

function fromOne(name: string, text: string): number {
  const value = whole(name, text);
  if (value < 1) throw new BadArgument(`${name} must be a whole number from 1, got ${text}`);
  return value;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new BadArgument(`${name} must be a whole number, got ${text}`);
  return value;
}
