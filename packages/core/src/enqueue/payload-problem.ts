import { types } from 'node:util';

/** Deeper JSON exceeds the stack limits of parsers and databases. Circular references also end here. */
const MAX_DEPTH = 1_000;

/** Why a payload can't be stored as it is; undefined if it can. */
export type PayloadProblem = string | undefined;

/**
 * Finds values that JSON or a database would refuse or silently change: NaN becomes null, a Map becomes {}. An
 * `undefined` property is allowed, because leaving it out means the same.
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
  const lossy = lossyKind(value);
  if (lossy) return `${path} is ${lossy}`;
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
  // JSON.stringify calls toJSON once, also if it returns the object itself.
  return json === value ? memberProblem(value, path, depth) : payloadProblem(json, path, depth + 1);
}

/** Describes an object that JSON would store as something else. */
function lossyKind(value: object): string | undefined {
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
  // Other built-in objects hold their data where JSON doesn't look. Their tag is not 'Object'.
  const tag = tagOf(value);
  return tag !== 'Object' && Object.keys(value).length === 0 ? withArticle(tag) : undefined;
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function withArticle(noun: string): string {
  return `${/^[AEIO]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
