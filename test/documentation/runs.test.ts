import { backoffDelayMs, type DelayBackoff } from '@postcommit/core/internal';
import { describe, expect, it, vi } from 'vitest';
import { PageProgram } from './page-program.js';
import { blocksOf } from './pages.js';
import { codeIn, tableUnder } from './tables.js';

const patience = { timeout: 120_000 };

interface Run {
  readonly page: string;
  /** How many `ts` blocks from the first one on make the program. */
  readonly blocks: number;
  /** What fragments take from the reader's application. */
  readonly before?: string;
  readonly says: readonly string[];
  /** Ends by Ctrl-C only. */
  readonly runsOn?: boolean;
}

const runs: readonly Run[] = [
  {
    page: 'packages/core/README.md',
    blocks: 1,
    says: ['order.paid { id: 7 }', '{ fetched: 1, dispatched: 1, failed: 0, dead: 0, fenced: 0 }'],
  },
  { page: 'packages/publisher-events/README.md', blocks: 1, says: ['order.paid { id: 7 }'] },
  { page: 'packages/store-memory/README.md', blocks: 1, says: [] },
  {
    page: 'packages/scheduled-messages/README.md',
    blocks: 1,
    says: ["payments.charge-reminder { invoiceId: '7' }"],
    runsOn: true,
  },
  {
    page: 'docs/guides/testing.md',
    blocks: 3,
    before: "import { createOutbox } from '@postcommit/core';\nconst publisher = async () => {};\n",
    says: [],
  },
];

it.each(runs)('the code of $page runs, and prints what the page says', patience, async (run) => {
  const shown = blocksOf(run.page).filter(({ language }) => language === 'ts');
  const code = shown.slice(0, run.blocks).map((block) => block.code);
  const program = await PageProgram.run({ 'src/main.ts': [run.before ?? '', ...code].join('\n') });
  if (run.runsOn) {
    const isDone = (): boolean => program.hasEnded || program.lines.length >= run.says.length;
    await vi.waitUntil(isDone, { timeout: 60_000, interval: 20 });
    await program.interrupt();
  } else {
    expect(await program.ended(), program.complaints.join('\n')).toBe(0);
  }
  expect(program.lines).toEqual(run.says);
});

describe('the guide on retries', () => {
  const rows = tableUnder('docs/guides/retries.md', 'How long it waits');
  const [waitsColumn = ''] = Object.keys(rows[0] ?? {}).filter((name) => name.startsWith('waits'));

  it.each(rows.filter(({ backoff }) => backoff !== 'none'))('has the delays of $backoff', (row) => {
    const [text = ''] = codeIn(row.backoff);
    const json = text
      .replaceAll('_', '')
      .replaceAll("'", '"')
      .replace(/(\w+):/g, '"$1":');
    const backoff = JSON.parse(json) as DelayBackoff;
    const waits = [1, 2, 3, 4].map((attempts) => `${backoffDelayMs(backoff, attempts, () => 0) / 1_000} s`);
    expect(row[waitsColumn]).toMatch(new RegExp(`^${waits.join(', ')} …`));
  });
});
