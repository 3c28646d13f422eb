import { OutboxError, type OutboxErrorCode } from './errors.js';
import { unknownOption } from './unknown-option.js';

/**
 * Lists every name of an options type. `const NAMES: OptionNames<MyOptions> = { limit: true }` does not compile if a
 * name is missing, so the list can't go stale.
 */
export type OptionNames<Options> = Readonly<Record<NamesOf<Options> & string, true>>;

type NamesOf<Options> = Options extends unknown ? keyof Options : never;

/**
 * Refuses unknown options: in JavaScript, a typo must not silently mean "the default".
 *
 * @throws `code`, by default `INVALID_CONFIG`.
 */
export function assertKnownOptions<Options>(
  where: string,
  options: Options,
  names: OptionNames<Options>,
  code: OutboxErrorCode = 'INVALID_CONFIG',
): void {
  const problem = unknownOption(options, names);
  if (problem) throw new OutboxError(code, `${where}: ${problem}`);
}
