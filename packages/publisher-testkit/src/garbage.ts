import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Node exposes this only behind a flag, which can be set while it runs. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
