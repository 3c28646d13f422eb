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

\`npm run chaos\` writes this page. It does these things to real processes on a real PostgreSQL, then compares two databases:
the one under test, and a ledger of every business commit and every publish. It fails if a promise did not hold, and then the
last section says which. \`npm run chaos -- --only 'sigkill ack'\` runs a part of it, \`--minutes 60\` runs for an hour, \`--seed 7\`
replays a random mix, and \`--help\` lists the rest. A short form runs with the tests.

- **lost**: committed, but neither published nor dead with a reason. **Phantom**: published or stored, although its
  transaction did not commit. **Out of order**: published before a message of the same key whose transaction had committed
  before its own began. All three must be 0.
- **duplicates**: messages that were published again, with the same id. They are allowed after a crash, an expired claim or
  a commit whose result is unknown, for rows that the affected process had claimed; each one is checked for such a cause. A
  publisher that delivers and then reports a failure causes its own duplicates.
- **longest recovery**: from the end of the fault until every message was published or dead, including the backlog. If a
  scenario waits for a claim to expire, claims last 1.5 s instead of the default 5 minutes. A dash means that no fault has
  an end.

Not every check has a column. Each run also looks for two owners of one key at the same time, messages published with a
different content than they were enqueued with, more attempts than allowed, rows that died without a cause, and processes
that exited on their own.
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
