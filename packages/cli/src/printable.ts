/**
 * Characters that a terminal interprets or a reader can't see: control, format and bidirectional characters, lone
 * surrogates, line and paragraph separators, and unassigned code points.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes text into one line that is safe to print. Idempotent. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => SHORT_ESCAPES[character] ?? unicodeEscape(character));
}

/** Returns the text as a JSON string, safe to print. */
export function quoted(text: string): string {
  return jsonText(text);
}

/** Returns the text unchanged if it can be a value in a `name=value` line, otherwise quoted. */
export function word(text: string): string {
  return /^[^\s"\\]+$/.test(text) && printable(text) === text ? text : quoted(text);
}

/** Returns valid JSON that is safe to print: it also escapes what JSON allows unescaped. */
export function jsonText(value: unknown): string {
  return printable(JSON.stringify(value) ?? 'null');
}

function unicodeEscape(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
