import { readPage } from './pages.js';

/** A row of a Markdown table, by the names of its columns. */
export type TableRow = Readonly<Record<string, string>>;

/** The rows of all tables under a heading, up to the next heading of any level. */
export function tableUnder(page: string, heading: string): TableRow[] {
  const lines = readPage(page).split('\n');
  const start = lines.findIndex((line) => line.replace(/^#+ /, '') === heading && line.startsWith('#'));
  if (start === -1) throw new Error(`${page} has no heading '${heading}'`);
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line));
  const section = lines.slice(start + 1, length === -1 ? undefined : start + 1 + length);
  return rowsOf(section.filter((line) => line.startsWith('|')));
}

function rowsOf([header = '', , ...lines]: readonly string[]): TableRow[] {
  const names = cellsOf(header).map((name) => name.replaceAll('`', ''));
  return lines.map((line) => {
    const cells = cellsOf(line);
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
  });
}

/** A `\|` inside a cell is no border. */
function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Returns the text in backticks of a cell: `stats` for `` `stats` ``. */
export function codeIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}
