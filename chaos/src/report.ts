import { GROUPS, type ScenarioResult } from './scenario.js';

export interface Line {
  readonly group: string;
  readonly fault: string;
  readonly runs: number;
  readonly messages: number;
  readonly lost: number;
  readonly phantom: number;
  readonly outOfOrder: number;
  readonly duplicates: number;
  /** Undefined where no fault had an end. */
  readonly recoveryMs: number | undefined;
}

/** Runs of the same fault become one line. */
export function linesOf(results: readonly ScenarioResult[]): Line[] {
  const lines = new Map<string, Line>();
  for (const { scenario, ...result } of results) {
    const before = lines.get(scenario.name);
    lines.set(scenario.name, {
      group: scenario.group,
      fault: scenario.name,
      runs: (before?.runs ?? 0) + 1,
      messages: (before?.messages ?? 0) + result.messages,
      lost: (before?.lost ?? 0) + result.lost,
      phantom: (before?.phantom ?? 0) + result.phantom,
      outOfOrder: (before?.outOfOrder ?? 0) + result.outOfOrder,
      duplicates: (before?.duplicates ?? 0) + result.duplicates,
      recoveryMs: longest(before?.recoveryMs, result.recoveryMs),
    });
  }
  return [...lines.values()];
}

function longest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

const HEAD = [
  'fault',
  'runs',
  'messages',
  'lost',
  'phantom',
  'out of order',
  'duplicates',
  'longest recovery',
];

export function table(lines: readonly Line[]): string {
  const rows = [HEAD, ...lines.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [head = '', ...body] = rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${cells.join(' | ')} |`;
  });
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [head, `| ${rule.join(' | ')} |`, ...body].join('\n');
}

function cellsOf(line: Line): string[] {
  const counts = [line.runs, line.messages, line.lost, line.phantom, line.outOfOrder, line.duplicates];
  const recovery = line.recoveryMs === undefined ? '–' : `${(line.recoveryMs / 1_000).toFixed(1)} s`;
  return [line.fault, ...counts.map((count) => count.toLocaleString('en')), recovery];
}

const INTRODUCTION = `# Faults and what they do

This page is written by \`npm run chaos\`, which does these things to real processes on a real PostgreSQL and then reads two
databases: the one under test, and a ledger beside it that heard of every business commit and every publish. It ends with
an error when a promise did not hold, and the last section names it. \`npm run chaos -- --only 'sigkill ack'\` repeats a part of it,
\`--minutes 60\` goes on for an hour, \`--seed 7\` replays a random mix, \`--help\` lists the rest. A short form of it runs with the tests.

- **lost**: committed, and neither published nor dead with a reason. **Phantom**: published or stored, though its
  transaction did not commit. **Out of order**: published before a message of the same key whose transaction had committed
  before its own began. All three must be 0.
- **duplicates**: messages that were published again, with the same id. They are allowed after a crash, an expired claim or
  an unknown commit result, for rows that the process which was hit had claimed; each one is checked for such a cause. Where
  the publisher itself delivers and then reports a failure, the repetition is its own.
- **longest recovery**: from the end of the fault until every message was published or dead, with what had piled up. Claims
  live for 1.5 s where a scenario waits for one to expire, instead of the 5 minutes that are the default; a dash stands
  where no fault has an end.

Not all that is checked has a column: every run also looks for two owners of one key at the same time, for a message that is
published with another content than it was enqueued with, for more tries than allowed, for innocent rows that died, and for a
process that ended by itself.
`;

export function page(results: readonly ScenarioResult[]): string {
  const lines = linesOf(results);
  const parts = GROUPS.flatMap((group) => {
    const own = lines.filter((line) => line.group === group);
    const title = `${group.charAt(0).toUpperCase()}${group.slice(1)}`;
    return own.length === 0 ? [] : [`## ${title}\n\n${table(own)}\n`];
  });
  return [INTRODUCTION, ...parts, ...brokenPromises(results)].join('\n');
}

function brokenPromises(results: readonly ScenarioResult[]): string[] {
  const broken = results.flatMap(({ scenario, broken: problems }) =>
    problems.map((problem) => `- ${scenario.name}: ${problem.split('\n', 1)[0]}`),
  );
  return broken.length === 0 ? [] : [`## Promises that did not hold\n\n${[...new Set(broken)].join('\n')}\n`];
}
