import { describe, expect, it } from 'vitest';
import type { Case, Result } from '../src/case.js';
import { measuredPart, pageWith } from '../src/report/page.js';
import { plot } from '../src/report/plot.js';
import { caseResult, joinedResults, type Results } from '../src/report/results.js';
import { caseSection } from '../src/report/table.js';

const drainCase: Case = {
  id: 'drain',
  title: 'Draining',
  about: 'How fast.',
  columns: [{ name: '1 process', unit: 'rows/s' }],
  trials: [],
  words: [{ line: 'BullMQ <6>', column: '1 process', text: 'not run: no Redis' }],
  targets: [
    { of: ['ours', '1 process'], to: ['theirs', '1 process'], atLeast: 1 },
    { of: ['ours', '1 process'], to: ['ours', 'never measured'], atLeast: 1 },
  ],
};
const measured: Result[] = [
  { line: 'theirs', cells: { '1 process': [300, 100, 200] }, notes: ['stopped after 3 s'] },
  { line: 'ours', cells: { '1 process': [100] }, notes: [] },
];
const run = { command: 'pnpm bench --page', rounds: 3, scale: 0.5 };
const result = caseResult(drainCase, run, measured, ['ours', 'theirs', 'BullMQ <6>']);

const results: Results = {
  measuredOn: '2026-01-01',
  minutes: 2,
  machine: {
    processor: 'p',
    cores: 2,
    memoryGiB: 4,
    system: 'Linux 6',
    node: 'v20',
    postgres: '18',
    redis: 'none',
  },
  subjects: [
    { name: 'ours', settings: 's', isOurs: true, isLimit: false },
    { name: 'theirs', settings: 's', isOurs: false, isLimit: false },
    { name: 'BullMQ <6>', settings: 's', isOurs: false, isLimit: false, absent: 'not run: no Redis' },
  ],
  cases: [result],
};

describe('a table', () => {
  const section = caseSection(result);

  it('has the median with the lowest and the highest, in the order of the subjects, and words where there is no figure', () => {
    expect(section).toMatch(
      /\| ours +\| 100 +\|\n\| theirs +\| 200 \(100–300\) +\|\n\| BullMQ <6> \| not run: no Redis +\|/,
    );
  });

  it('has the notes and the missed targets', () => {
    expect(section).toContain('- theirs: stopped after 3 s');
    expect(section).toContain('- MISSED: ours, 1 process is 0.50 of theirs (wanted at least 1.00)');
  });

  it('says how it was measured', () => {
    expect(section).toContain(
      '`pnpm bench --page`: the median of 3 rounds, with the lowest and the highest, at 0.5 of the full size.',
    );
  });

  it('omits a target whose cells were not both measured', () => {
    expect(result.targets).toHaveLength(1);
  });
});

it('several runs are merged: the cases of all, each from the latest run that has it', () => {
  const later = {
    ...results,
    minutes: 5,
    cases: [
      { ...result, title: 'again' },
      { ...result, id: 'bulk' },
    ],
  };
  const joined = joinedResults([results, later]);
  expect(joined.minutes).toBe(7);
  expect(joined.subjects).toEqual(results.subjects);
  expect(joined.cases.map(({ id, title }) => [id, title])).toEqual([
    ['drain', 'again'],
    ['bulk', 'Draining'],
  ]);
});

describe('the page', () => {
  const page = 'before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n';

  it('is replaced between its markers, and only there', () => {
    const once = pageWith(page, measuredPart(results));
    expect(once).toMatch(/^before\n<!-- measured: begin -->\n/);
    expect(once).toMatch(/\n<!-- measured: end -->\nafter\n$/);
    expect(once).not.toContain('old');
    expect(pageWith(once, measuredPart(results))).toBe(once);
  });

  it('says where others are ahead', () => {
    expect(pageWith(page, measuredPart(results))).toContain(
      '- Draining, 1 process: theirs 200; ours 100 rows/s',
    );
  });

  it('does so even if a separate line of Postcommit is ahead of them', () => {
    const apart = { name: 'ours, apart', settings: 's', isOurs: true, isLimit: false, isApart: true };
    const fast = { line: 'ours, apart', cells: { '1 process': [900] }, notes: [] };
    const cases = [{ ...result, lines: [...result.lines, fast] }];
    const found = measuredPart({ ...results, subjects: [...results.subjects, apart], cases });
    expect(found).toContain('- Draining, 1 process: theirs 200; ours 100 rows/s');
  });

  it('without markers is rejected', () => {
    expect(() => pageWith('nothing', measuredPart(results))).toThrow('measured: begin');
  });
});

describe('the plot', () => {
  it('has a bar for every figure, and none for words', () => {
    const image = plot(results);
    expect(image.match(/<rect/g)).toHaveLength(3);
    expect(image).not.toContain('BullMQ');
  });

  it('escapes names', () => {
    const odd = { line: 'a<b & c', cells: { '1 process': [1] }, notes: [] };
    const image = plot({ ...results, cases: [{ ...result, lines: [odd] }] });
    expect(image).toContain('a&lt;b &amp; c');
  });
});
