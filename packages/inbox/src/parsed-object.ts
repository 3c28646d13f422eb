import { textOf } from './headers-of.js';

/** The object that a body is as JSON, or undefined if it is none. */
export function parsedObject(body: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(textOf(body) ?? '');
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
