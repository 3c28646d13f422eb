import { figure } from '../statistics.js';
import { middle, type Results } from './results.js';
import { table } from './table.js';

/** The lines of the README: ours, the limit, and each alternative as well as it can be set up. */
const LINES = [
  'postcommit, store-pg',
  'postcommit, store-typeorm',
  'postcommit, store-prisma',
  'raw SQL limit, two connections',
  'hand-written outbox',
  'graphile-worker 0.17, best',
  'pg-boss 10, best',
  'BullMQ 6, best',
  'pg-transactional-outbox 0.5, polling, best',
];

interface Figure {
  readonly title: string;
  readonly id: string;
  readonly column: string;
}

const FIGURES: readonly Figure[] = [
  { title: 'drained by one process, rows/s', id: 'drain', column: '1 process' },
  { title: 'transactions with a message, of those without', id: 'enqueue', column: '10 at once, of without' },
  { title: 'commit to publish, median ms', id: 'latency', column: 'p50' },
];

/** The table of the README. */
export function summary({ cases, measuredOn, machine }: Results): string {
  const cell = (line: string, { id, column }: Figure): string => {
    const value = middle(cases.find((one) => one.id === id)?.lines ?? [], [line, column]);
    return value === undefined ? '–' : figure(value);
  };
  const rows = LINES.map((line) => [line, ...FIGURES.map((each) => cell(line, each))]);
  const where = `Measured on ${measuredOn} on ${machine.cores} cores, which client and server share, with \`fsync\` on.`;
  return `${table(['', ...FIGURES.map(({ title }) => title)], rows)}\n\n${where}`;
}
