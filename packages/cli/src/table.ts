import { printable } from './printable.js';

const GAP = '  ';
/** Wide enough for an id. */
const MAX_CELL = 40;
const MIN_LAST_CELL = 16;

/** Characters that are two cells wide. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Combining marks: no cell of their own. */
const MARK = /\p{M}/u;

/** Returns a heading and one line for each row. Omits empty columns; the last column gets the remaining width. */
export function formatTable(
  names: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string[] {
  const shown = names.map((_, index) => index).filter((index) => rows.some((row) => row[index]));
  const lines = [names.map((name) => name.toUpperCase()), ...rows].map((row) =>
    shown.map((index) => printable(row[index] ?? '')),
  );
  const widths = shown.map((_, place) =>
    Math.min(MAX_CELL, Math.max(...lines.map((line) => widthOf(line[place] ?? '')))),
  );
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  widths[widths.length - 1] = Math.max(MIN_LAST_CELL, columns - before);
  return lines.map((line) =>
    line
      .map((cell, place) => fit(cell, widths[place] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

function fit(text: string, width: number): string {
  const cut = cutTo(text, width);
  return cut + ' '.repeat(width - widthOf(cut));
}

/** Truncates text to `width` cells, with an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let cut = '';
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    cut += character;
  }
  return `${cut}…`;
}

function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += MARK.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
