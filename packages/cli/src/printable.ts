/**
 * What a terminal would act on or a reader would not see: control, format and bidirectional characters, lone
 * surrogates, line and paragraph separators, and what has no meaning in Unicode.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One line that is safe to print, whatever the text contains. Harmless when repeated. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT[character] ?? unicodeEscape(character));
}

/** Between quotation marks, as in JSON. */
export function quoted(text: string): string {
  return jsonText(text);
}

/** As it is if it can stand in a `name=value` line by itself, else quoted. */
export function word(text: string): string {
  return /^[^\s"\\]+$/.test(text) && printable(text) === text ? text : quoted(text);
}

/** JSON that stays JSON, with the escapes that JSON leaves to the reader. */
export function jsonText(value: unknown): string {
  return printable(JSON.stringify(value) ?? 'null');
}

function unicodeEscape(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
