import { readFileSync } from 'node:fs';

export interface Figure {
  readonly value: string;
  readonly text: string;
}

const page = readFileSync(new URL('../performance.md', import.meta.url), 'utf8');

/** The figures of the home page, taken from the page on performance, which the benchmark writes. */
export function figures(): Figure[] {
  const drain = 'Draining 100,000 rows';
  const limit = median(drain, 'raw SQL limit, two connections', '1 process, rows/s');
  return [
    {
      value: `${median(drain, 'postcommit, store-pg', '1 process, rows/s')} rows/s`,
      text: `drained by one process; the same statements without Postcommit reach ${limit}`,
    },
    {
      value: `${median('Commit to publish on an idle system', 'postcommit, store-pg', 'p50, ms')} ms`,
      text: 'from COMMIT in one process to publish in another, median on an idle system',
    },
    {
      value: median(
        'A business transaction with one message',
        'postcommit, store-pg',
        '10 at once, of without, ratio',
      ),
      text: 'of the transactions per second that the same work reaches without a message, on 10 connections',
    },
  ];
}

/** A cell is the median, with the range behind it: `94,617 (94,406–102,840)`. */
function median(heading: string, subject: string, column: string): string {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [header = [], , ...rows] =
    section
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').map((cell) => cell.trim())) ?? [];
  const cell = rows.find(([, name]) => name === subject)?.[header.indexOf(column)];
  if (!cell) throw new Error(`docs/performance.md has no '${subject}' with '${column}' under '${heading}'`);
  return cell.split(' ')[0] ?? '';
}
