import type { CellName } from '../case.js';
import { figure, median } from '../statistics.js';
import type { CaseResult, Run, Verdict } from './results.js';

/** A case as Markdown: its table, what was noticed, and what was wanted. */
export function caseSection({ title, about, run, columns, lines, targets }: CaseResult): string {
  const header = ['', ...columns.map(({ name, unit }) => `${name}, ${unit}`)];
  const rows = lines.map(({ line, cells }) => [line, ...columns.map(({ name }) => cellText(cells[name]))]);
  const notes = lines.flatMap(({ line, notes: found }) => found.map((text) => `- ${line}: ${text}`));
  const verdicts = targets.map((target) => `- ${verdictText(target)}`);
  const lists = [...notes, ...verdicts].join('\n');
  return `## ${title}\n\n${about}\n\n${runText(run)}\n\n${table(header, rows)}\n${lists === '' ? '' : `\n${lists}\n`}`;
}

function runText({ command, rounds, scale }: Run): string {
  const meaning =
    rounds === 1 ? 'one round' : `the median of ${rounds} rounds, with the lowest and the highest`;
  const size = scale === 1 ? '' : `, at ${scale} of the full size`;
  return `\`${command}\`: ${meaning}${size}.`;
}

/** Padded, as the formatter would have it. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const spell = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [spell(header), rule, ...rows.map(spell)].join('\n');
}

function cellText(cell: readonly number[] | string | undefined): string {
  if (cell === undefined) return '–';
  if (typeof cell === 'string') return cell;
  const [low, high] = [Math.min(...cell), Math.max(...cell)];
  return cell.length === 1
    ? figure(median(cell))
    : `${figure(median(cell))} (${figure(low)}–${figure(high)})`;
}

export function verdictText({ of, to, atLeast, atMost, ratio, holds }: Verdict): string {
  const wanted = atLeast === undefined ? `at most ${figure(atMost ?? 0)}` : `at least ${figure(atLeast)}`;
  // A growth is a ratio already.
  const base = typeof to === 'number' ? (to === 1 ? '' : ` of ${to}`) : ` of ${cellNameText(to, of)}`;
  return `${holds ? 'holds' : 'MISSED'}: ${of.join(', ')} is ${figure(ratio)}${base} (wanted ${wanted})`;
}

/** The column is named once where both have it. */
function cellNameText([line, column]: CellName, [, otherColumn]: CellName): string {
  return column === otherColumn ? line : `${line}, ${column}`;
}
