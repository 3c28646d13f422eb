import { types } from 'node:util';

/** Deeper JSON runs into the stack limits of parsers and databases. A value that refers to itself ends here too. */
const MAX_DEPTH = 1_000;

/** Beyond this the quick look leaves the answer to the thorough one. */
const QUICK_DEPTH = 50;

/**
 * A quick look that says yes to plain data, which nearly all payloads are, without noting where it is: it took bulk
 * enqueuing from 0.85 to 0.99 of the raw statement. A no means only that `payloadProblem` has to look.
 */
export function isPlainData(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() && !value.includes('\u0000');
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return true;
    case 'object':
      if (value === null) return true;
      if (depth >= QUICK_DEPTH) return false;
      return Array.isArray(value) ? isPlainList(value, depth) : isPlainObject(value, depth);
    default:
      return false;
  }
}

function isPlainList(items: readonly unknown[], depth: number): boolean {
  // Not `every`, which passes over the holes of a list: JSON would fill them with null.
  for (const item of items) if (!isPlainData(item, depth + 1)) return false;
  return true;
}

function isPlainObject(value: object, depth: number): boolean {
  if (Object.getPrototypeOf(value) !== Object.prototype || hasToJson(value)) return false;
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    const isFine = member === undefined || isPlainData(member, depth + 1);
    if (!(isFine && name.isWellFormed() && !name.includes('\u0000'))) return false;
  }
  return true;
}

/** Says why a payload can't be stored as it is; undefined when it can. */
export type PayloadProblem = string | undefined;

/**
 * Finds what JSON or a database would refuse, or change silently: NaN becomes null, a Map becomes {}.
 * An `undefined` property of an object is allowed, since leaving it out means the same.
 */
export function payloadProblem(value: unknown, path = 'payload', depth = 0): PayloadProblem {
  switch (typeof value) {
    case 'string':
      return stringProblem(value, path);
    case 'number':
      return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON would store as null`;
    case 'boolean':
      return undefined;
    case 'object':
      return value === null ? undefined : objectProblem(value, path, depth);
    default:
      return `${path} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}, which JSON can't hold`;
  }
}

export function stringProblem(value: string, path: string): PayloadProblem {
  if (value.includes('\u0000')) return `${path} contains a NUL character, which databases refuse`;
  if (!value.isWellFormed()) return `${path} contains half a surrogate pair, which is not valid Unicode`;
  return undefined;
}

function objectProblem(value: object, path: string, depth: number): PayloadProblem {
  if (depth >= MAX_DEPTH)
    return `${path.slice(0, 80)}… refers to itself or is nested deeper than ${MAX_DEPTH} levels`;
  if (hasToJson(value)) return toJsonProblem(value, path, depth);
  return memberProblem(value, path, depth);
}

function memberProblem(value: object, path: string, depth: number): PayloadProblem {
  if (Array.isArray(value)) return firstProblem(value.entries(), (index) => `${path}[${index}]`, depth);
  const lost = whatIsLost(value);
  if (lost) return `${path} is ${lost}`;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return firstProblem(entries, (name) => `${path}.${name}`, depth);
}

function firstProblem(
  members: Iterable<[string | number, unknown]>,
  pathOf: (name: string | number) => string,
  depth: number,
): PayloadProblem {
  for (const [name, member] of members) {
    const problem =
      (typeof name === 'string' ? stringProblem(name, 'a property name of the payload') : undefined) ??
      payloadProblem(member, pathOf(name), depth + 1);
    if (problem) return problem;
  }
  return undefined;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function toJsonProblem(value: { toJSON(): unknown }, path: string, depth: number): PayloadProblem {
  if (types.isDate(value) && Number.isNaN(value.getTime()))
    return `${path} is an invalid Date, which JSON would store as null`;
  const json = value.toJSON();
  // JSON.stringify asks once: a toJSON that answers with itself is not asked again.
  return json === value ? memberProblem(value, path, depth) : payloadProblem(json, path, depth + 1);
}

/** What JSON would make something else of, and what to do about it. */
function whatIsLost(value: object): string | undefined {
  if (types.isBoxedPrimitive(value)) return `a boxed ${tagOf(value)}; use the plain value`;
  if (types.isTypedArray(value))
    return `${withArticle(tagOf(value))}, which JSON would store as an object; use a list or Base64 text`;
  const emptied = emptiedKind(value);
  return emptied && `${emptied}, which JSON would store as {}`;
}

function emptiedKind(value: object): string | undefined {
  if (types.isMap(value)) return 'a Map';
  if (types.isSet(value)) return 'a Set';
  if (types.isPromise(value)) return 'a Promise (is an await missing?)';
  if (types.isNativeError(value)) return 'an Error';
  // Built-in objects keep what they hold where JSON doesn't look, and have a name of their own.
  const tag = tagOf(value);
  return tag !== 'Object' && Object.keys(value).length === 0 ? withArticle(tag) : undefined;
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function withArticle(noun: string): string {
  return `${/^[AEIO]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
