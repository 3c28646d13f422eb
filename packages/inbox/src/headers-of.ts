const decoder = new TextDecoder();

/** Headers by their names in lower case. Of a header with several values, the first counts. */
export type Headers = ReadonlyMap<string, string>;

/** Reads what clients use for headers: records, lists of records, and what iterates over pairs. */
export function headersOf(given: unknown): Headers {
  const headers = new Map<string, string>();
  for (const [name, value] of pairsOf(given)) {
    const key = textOf(name)?.toLowerCase();
    const text = textOf(Array.isArray(value) ? value[0] : value);
    if (key !== undefined && text !== undefined && !headers.has(key)) headers.set(key, text);
  }
  return headers;
}

/** The pairs of a list with names and values in turn, as Redis returns them. */
export function pairsOfFlatList(list: readonly unknown[]): Array<[unknown, unknown]> {
  return list.flatMap(
    (name, place): Array<[unknown, unknown]> => (place % 2 === 0 ? [[name, list[place + 1]]] : []),
  );
}

/** The value of one header as it is: it may be bytes that are not text. */
export function valueIn(given: unknown, name: string): unknown {
  return pairsOf(given).find(([each]) => textOf(each) === name)?.[1];
}

/** The text of a string or of bytes. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return value instanceof Uint8Array ? decoder.decode(value) : undefined;
}

function pairsOf(given: unknown): Array<readonly [unknown, unknown]> {
  if (typeof given !== 'object' || given === null) return [];
  if (!isIterable(given)) return Object.entries(given);
  return [...given].flatMap((each) => (isPair(each) ? [each] : Object.entries(Object(each))));
}

function isIterable(given: object): given is Iterable<unknown> {
  return Symbol.iterator in given;
}

function isPair(each: unknown): each is readonly [unknown, unknown] {
  return Array.isArray(each) && each.length === 2;
}
