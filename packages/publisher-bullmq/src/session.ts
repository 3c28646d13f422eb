import { UnavailableError } from '@postcommit/core';
import { GiveUp } from './give-up.js';
import type { QueueLike, RedisLike } from './queue-like.js';

/** A connected queue. It is given up when Redis is silent for too long. */
export class Session {
  readonly queue: QueueLike;
  readonly client: RedisLike | undefined;
  readonly #silenceMs: number;
  readonly #onSilence: () => void;
  #given = new AbortController();
  #unanswered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    queue: QueueLike,
    client: RedisLike | undefined,
    silenceMs: number,
    onSilence: () => void = () => {},
  ) {
    this.queue = queue;
    this.client = client;
    this.#silenceMs = silenceMs;
    this.#onSilence = onSilence;
  }

  /** A queue that is not in Redis says nothing about its connection. */
  get isReady(): boolean {
    return this.client?.status === undefined || this.client.status === 'ready';
  }

  /** Makes all calls at once. Resolves with what became of each, when all have ended or are given up. */
  async all<T>(
    calls: ReadonlyArray<() => Promise<T>>,
    signal?: AbortSignal,
  ): Promise<PromiseSettledResult<T>[]> {
    const given = this.#given.signal;
    const giveUp = new GiveUp(signal ? AbortSignal.any([signal, given]) : given);
    try {
      return await Promise.allSettled(calls.map((call) => giveUp.orResult(() => this.#watched(call))));
    } finally {
      giveUp.end();
    }
  }

  async #watched<T>(call: () => Promise<T>): Promise<T> {
    this.#unanswered += 1;
    this.#timer ??= setTimeout(() => this.#silent(), this.#silenceMs).unref();
    try {
      return await call();
    } finally {
      this.#answered();
    }
  }

  #answered(): void {
    this.#unanswered -= 1;
    if (this.#unanswered > 0) {
      this.#timer?.refresh();
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #silent(): void {
    const given = this.#given;
    this.#given = new AbortController();
    this.#timer = undefined;
    const cause = new Error(`no answer for ${this.#silenceMs} ms`);
    given.abort(new UnavailableError('Redis does not answer', { cause }));
    this.#onSilence();
  }
}
