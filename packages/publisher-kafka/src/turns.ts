import { UnavailableError } from '@postcommit/core';

/** Work that is done one after another, in the order in which it was asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Resolves when all that was asked for until now is done. */
  get over(): Promise<unknown> {
    return this.#last;
  }
}

/**
 * Resolves as `work` does; rejects as soon as the signal aborts. Work that has begun can't be cancelled; under a signal
 * that has aborted, it does not begin.
 */
export async function within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let giveUp = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => reject(signal.reason);
    signal.addEventListener('abort', giveUp);
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Runs work with a signal that aborts with one of these, or after `limitMs`: the cluster did not answer in time. */
export async function withDeadline<T>(
  signals: readonly AbortSignal[],
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(noAnswer(limitMs)), limitMs);
  // Not AbortSignal.any: one of these may live as long as the process, and would remember every call.
  const follow = (): void => limit.abort(signals.find(({ aborted }) => aborted)?.reason);
  for (const signal of signals) signal.addEventListener('abort', follow);
  if (signals.some(({ aborted }) => aborted)) follow();
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', follow);
  }
}

function noAnswer(limitMs: number): UnavailableError {
  const cause = new Error(`no answer for ${limitMs} ms`);
  return new UnavailableError('Kafka did not confirm in time; it may have stored the rows', { cause });
}
