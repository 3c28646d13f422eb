import { createHash } from 'node:crypto';

/** The fingerprint of a payload after a round trip through JSON. It ignores the order of keys, which the database does not keep. */
export function fingerprint(payload: unknown): string {
  return createHash('sha1')
    .update(canonical(JSON.parse(JSON.stringify(payload))))
    .digest('hex');
}

/** Without recursion: deep payloads are among those that are tried. */
function canonical(value: unknown): string {
  const parts: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (next instanceof End) {
      parts.push(next.text);
    } else if (Array.isArray(next)) {
      parts.push('[');
      open.push(new End(']'), ...next.toReversed());
    } else if (typeof next === 'object' && next !== null) {
      const sorted = Object.entries(next).sort(([a], [b]) => (a < b ? -1 : 1));
      parts.push('{');
      open.push(new End('}'), ...sorted.flat().toReversed());
    } else {
      parts.push(JSON.stringify(next));
    }
  }
  return parts.join(',');
}

/** Stands for the closing bracket among the values that are still to come. */
class End {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
