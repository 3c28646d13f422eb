import { parseArgs } from 'node:util';
import type { WalLevel } from './place.js';

export interface Options {
  /** Words; a case or subject whose id contains one is in. Empty: all. */
  readonly cases: readonly string[];
  readonly subjects: readonly string[];
  readonly rounds: number;
  readonly scale: number;
  readonly walLevel: WalLevel;
  readonly short: boolean;
  readonly json?: string;
  /** Whether docs/performance.md and its plot are written. */
  readonly page: boolean;
  /** Results of earlier runs, instead of measuring. */
  readonly from?: readonly [string, ...string[]];
  readonly help: boolean;
}

/** A flag that is wrong; the message says which and what it may be. */
export class BadOption extends Error {}

export const USAGE = `Usage: npm run bench -- [options], or pnpm bench [options]

  --case words       only cases whose id contains one of these words, separated by commas
  --subjects words   only subjects whose id contains one of these words
  --rounds n         interleaved rounds, default 3
  --scale part       part of the full sizes, above 0 to 10, default 1
  --short            about a minute: statement counts, which must be exact, and a few ratios
  --json file        writes the results
  --page             writes docs/performance.md, docs/performance.svg and the table of README.md from the results
  --from files       takes the results from files that --json wrote, separated by commas, and measures nothing
  --wal-level level  of the server, replica (default) or logical; the replication mode of pg-transactional-outbox needs logical
  --help`;

export function parseOptions(args: readonly string[]): Options {
  const values = parse(args);
  const { json, from, short = false, page = false, help = false } = values;
  if (from !== undefined && !page) throw new BadOption('--from only makes sense with --page');
  if (short && page) throw new BadOption('--short is not what the page is for: leave out --page');
  return {
    cases: words(values.case),
    subjects: words(values.subjects),
    rounds: wholeNumber('--rounds', values.rounds ?? (short ? '1' : '3')),
    scale: part('--scale', values.scale ?? (short ? '0.1' : '1')),
    walLevel: walLevel(values['wal-level'] ?? 'replica'),
    short,
    page,
    help,
    ...(json !== undefined && { json }),
    ...(from !== undefined && { from: files(from) }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      // pnpm hands on the dashes that separate its options from ours.
      args: args.filter((argument) => argument !== '--'),
      options: {
        case: { type: 'string' },
        subjects: { type: 'string' },
        rounds: { type: 'string' },
        scale: { type: 'string' },
        json: { type: 'string' },
        from: { type: 'string' },
        'wal-level': { type: 'string' },
        short: { type: 'boolean' },
        page: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new BadOption(error instanceof Error ? error.message : String(error));
  }
}

function files(text: string): [string, ...string[]] {
  const [first, ...more] = text.split(',');
  if (!first) throw new BadOption('--from needs the name of a file');
  return [first, ...more];
}

function words(text = ''): string[] {
  return text.split(',').flatMap((word) => (word.trim() === '' ? [] : [word.trim().toLowerCase()]));
}

function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100)
    throw new BadOption(`${flag} must be a whole number from 1 to 100, got ${text}`);
  return value;
}

function part(flag: string, text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 10)) throw new BadOption(`${flag} must be above 0 and at most 10, got ${text}`);
  return value;
}

function walLevel(text: string): WalLevel {
  if (text === 'replica' || text === 'logical') return text;
  throw new BadOption(`--wal-level must be replica or logical, got ${text}`);
}

/** Those whose id contains a word; a word that fits none is a mistake. */
export function chosen<T extends { readonly id: string }>(
  flag: string,
  all: readonly T[],
  wanted: readonly string[],
): T[] {
  for (const word of wanted) {
    if (!all.some(({ id }) => id.includes(word)))
      throw new BadOption(
        `${flag}: nothing is called ${word}. There are: ${all.map(({ id }) => id).join(', ')}`,
      );
  }
  return wanted.length === 0 ? [...all] : all.filter(({ id }) => wanted.some((word) => id.includes(word)));
}
