import { OutboxError } from '../message/errors.js';
import type { Module } from './module.js';

/** Refuses what TypeScript would catch: a module without its options, a class, a list, undefined. */
export function assertModule(given: Module, index: number): void {
  const problem = problemOf(given, `modules[${index}]`);
  if (problem !== undefined) throw new OutboxError('INVALID_CONFIG', problem);
}

function problemOf(given: unknown, place: string): string | undefined {
  if (given === undefined) return `${place} is undefined: do two files import each other?`;
  if (Array.isArray(given)) return `${place} is a list of modules: spread it, ...modules`;
  if (typeof given === 'function') return problemOfFunction(given, place);
  if (typeof given !== 'object' || given === null) return notAModule(place);
  if ('name' in given && typeof given.name === 'string') return undefined;
  return 'forRoot' in given ? needsOptions(given, place) : notAModule(place);
}

function problemOfFunction(given: { readonly name: string }, place: string): string {
  if (given.name === 'forRoot') return `${place} is the function forRoot, not a module: call it`;
  return `${place} is the class ${given.name}, not a module: a module is an object with a name`;
}

/** A module without defaults carries its name as a tag, because an object with a `name` would be a module itself. */
function needsOptions(given: object, place: string): string {
  const tag: unknown = Reflect.get(given, Symbol.toStringTag);
  return typeof tag === 'string'
    ? `${tag} needs options: pass ${tag}.forRoot({ … })`
    : `${place} needs options: pass its forRoot({ … })`;
}

function notAModule(place: string): string {
  return `${place} is not a module: a module is an object with a name, as OutboxModule.forRoot({ … }) returns`;
}
