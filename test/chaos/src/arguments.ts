import { parseArgs } from 'node:util';
import type { Form } from './arena.js';

export interface ChaosArguments {
  readonly form: Form;
  readonly rounds: number;
  /** Rounds go on until then, at least one. */
  readonly minutes: number | undefined;
  readonly seed: number;
  /** Only scenarios whose group or name has all of these words. */
  readonly only: readonly string[];
  readonly atOnce: number;
}

export function readArguments(args: readonly string[]): ChaosArguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '2' },
      minutes: { type: 'string' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      only: { type: 'string', default: '' },
      'at-once': { type: 'string', default: '4' },
    },
  });
  return {
    form: values.short ? 'short' : 'long',
    rounds: fromOne('--rounds', values.rounds),
    minutes: values.minutes === undefined ? undefined : fromOne('--minutes', values.minutes),
    seed: whole('--seed', values.seed),
    only: [values.only, ...positionals].join(' ').toLowerCase().split(/\s+/).filter(Boolean),
    atOnce: fromOne('--at-once', values['at-once']),
  };
}

function fromOne(name: string, text: string): number {
  const value = whole(name, text);
  if (value < 1) throw new Error(`${name} must be a whole number from 1, got ${text}`);
  return value;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`${name} must be a whole number, got ${text}`);
  return value;
}
