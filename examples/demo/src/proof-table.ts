import { grouped, wrap } from './layout.js';
import { paint } from './paint.js';
import type { Finding } from './proof.js';

const COUNT_WIDTH = 9;
const MIN_NOTE = 24;

/** One line for each finding; a note that has no room beside its count goes below it. */
export function proofTable(findings: readonly Finding[], columns: number): string[] {
  const nameWidth = Math.max(...findings.map(({ name }) => name.length));
  const beside = 4 + nameWidth + COUNT_WIDTH + 2;
  const indent = columns - beside < MIN_NOTE ? 4 : beside;
  const lines = findings.flatMap((finding) => {
    const { name, count, note } = finding;
    const [first = '', ...rest] = wrap(note, columns - indent - 1);
    const head = `  ${mark(finding)} ${name.padEnd(nameWidth)}${grouped(count).padStart(COUNT_WIDTH)}`;
    const below = (indent === beside ? rest : [first, ...rest]).filter((line) => line !== '');
    const start = indent === beside && first !== '' ? `${head}  ${paint('dim', first)}` : head;
    return [start, ...below.map((line) => ' '.repeat(indent) + paint('dim', line))];
  });
  const title = 'What the database says (the query: src/proof.ts)';
  return ['', ...wrap(title, columns).map((line) => paint('bold', line)), '', ...lines, ''];
}

function mark({ holds }: Finding): string {
  if (holds === undefined) return paint('dim', '·');
  return holds ? paint('good', '✓') : paint('bad', '✗');
}
