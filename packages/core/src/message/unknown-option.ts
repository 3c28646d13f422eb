/** Describes the first option that is not in `names` and suggests the one that was probably meant. */
export function unknownOption(options: unknown, names: Readonly<Record<string, true>>): string | undefined {
  if (typeof options !== 'object' || options === null) return undefined;
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return undefined;
  const known = Object.keys(names);
  const meant = known.find((name) => isTypoOf(name, unknown));
  const advice = meant === undefined ? `the options are ${known.join(', ')}` : `did you mean '${meant}'?`;
  return `unknown option '${unknown.slice(0, 80)}': ${advice}`;
}

/** Allows two edits and ignores case. */
function isTypoOf(name: string, written: string): boolean {
  if (Math.abs(name.length - written.length) > 2) return false;
  return editDistance(name.toLowerCase(), written.toLowerCase()) <= 2;
}

function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[to.length] ?? 0;
}
