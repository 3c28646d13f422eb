/** Adds one listener to a signal for all rows of a batch that share it: Node warns from the eleventh listener on. */
export class AbortWatch {
  readonly #watched = new WeakMap<AbortSignal, Set<() => void>>();

  /** Calls `callback` when the signal aborts. Returns an unsubscribe function. */
  watch(signal: AbortSignal, callback: () => void): () => void {
    const callbacks = this.#watched.get(signal) ?? this.#listen(signal);
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  #listen(signal: AbortSignal): Set<() => void> {
    const callbacks = new Set<() => void>();
    this.#watched.set(signal, callbacks);
    const callAll = (): void => {
      for (const callback of callbacks) callback();
    };
    // Never removed: the signal lives only for one publish or one batch.
    signal.addEventListener('abort', callAll, { once: true });
    return callbacks;
  }
}
