/** One listener on a signal for all rows that share it, as those of a batch do: from the eleventh on, Node would warn. */
export class AbortWatch {
  readonly #watched = new WeakMap<AbortSignal, Set<() => void>>();

  /** Calls back when the signal aborts. Gives the way to stop. */
  watch(signal: AbortSignal, callback: () => void): () => void {
    const callbacks = this.#watched.get(signal) ?? this.#listen(signal);
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  #listen(signal: AbortSignal): Set<() => void> {
    const callbacks = new Set<() => void>();
    this.#watched.set(signal, callbacks);
    const tellAll = (): void => {
      for (const callback of callbacks) callback();
    };
    // It lives as long as the signal, which is one publish or one batch.
    signal.addEventListener('abort', tellAll, { once: true });
    return callbacks;
  }
}
