/** What must never be printed as it is. Written out, not taken from the code under test. */
export const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about.
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]|[\u{e0000}-\u{e007f}]/u;

const PIECES = [
  '\u001b[2J',
  '\u001b]0;title\u0007',
  '\u009b31m',
  '\r\n',
  '\u0000',
  '\u007f',
  '\u202e',
  '\u2028',
  '\ud800',
  '\udc00',
  '\ufeff',
  '\u{e0041}',
  '"',
  '\\',
  '\\u001b',
  ' ',
  '=',
  'é',
  'e\u0301',
  '東',
  '🦊',
];

/** A text of dangerous pieces, plain letters and any UTF-16 unit, up to 40 of them. */
export function hostile(random: () => number): string {
  const pick = (): string => {
    const kind = random();
    if (kind < 0.5) return PIECES[Math.floor(random() * PIECES.length)] ?? '';
    if (kind < 0.7) return String.fromCharCode(Math.floor(random() * 0xa0));
    return String.fromCharCode(Math.floor(random() * 0x1_0000));
  };
  return Array.from({ length: Math.floor(random() * 40) }, pick).join('');
}
