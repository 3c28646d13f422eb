import { textOf } from './headers-of.js';

/** The object that a body is as JSON, or undefined if it is none. A client may have parsed it. */
export function parsedObject(body: unknown): Record<string, unknown> | undefined {
  if (isPlainObject(body)) return body;
  try {
    const value: unknown = JSON.parse(textOf(body) ?? '');
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
