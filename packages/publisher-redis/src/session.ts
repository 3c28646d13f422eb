import { UnavailableError } from '@postcommit/core';
import { GiveUp } from './give-up.js';
import type { RedisArgument, RedisClientLike } from './redis-client-like.js';

export type RedisCommand = readonly RedisArgument[];

/** Not those that the application may have set for its client. */
const PLAIN = { timeout: undefined, typeMapping: {} } as const;

/** A connection, on which Redis answers in the order of the commands. It is given up when Redis is silent for too long. */
export class Session {
  readonly #client: RedisClientLike;
  readonly #silenceMs: number;
  readonly #onSilence: () => void;
  #given = new AbortController();
  #unanswered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(client: RedisClientLike, silenceMs: number, onSilence: () => void = () => {}) {
    this.#client = client;
    this.#silenceMs = silenceMs;
    this.#onSilence = onSilence;
  }

  get isReady(): boolean {
    return this.#client.isReady;
  }

  /** Sends all commands at once. Resolves with what became of each, when all are answered or given up. */
  async pipeline(
    commands: readonly RedisCommand[],
    signal?: AbortSignal,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const given = this.#given.signal;
    const giveUp = new GiveUp(signal ? AbortSignal.any([signal, given]) : given);
    try {
      return await Promise.allSettled(commands.map((command) => this.#reply(command, giveUp)));
    } finally {
      giveUp.end();
    }
  }

  async command(command: RedisCommand): Promise<unknown> {
    const [reply] = await this.pipeline([command]);
    if (reply?.status === 'fulfilled') return reply.value;
    throw reply?.reason;
  }

  async #reply(command: RedisCommand, giveUp: GiveUp): Promise<unknown> {
    try {
      return await giveUp.orResult(() => this.#send(command, giveUp.signal));
    } catch (error) {
      // Not that the client has taken the command back.
      if (giveUp.signal.aborted) throw giveUp.signal.reason;
      throw error;
    }
  }

  async #send(command: RedisCommand, abortSignal: AbortSignal): Promise<unknown> {
    this.#unanswered += 1;
    this.#timer ??= setTimeout(() => this.#silent(), this.#silenceMs).unref();
    try {
      return await this.#client.sendCommand(command, { ...PLAIN, abortSignal });
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
    given.abort(
      new UnavailableError('Redis does not answer', {
        cause: new Error(`no answer for ${this.#silenceMs} ms`),
      }),
    );
    this.#onSilence();
  }
}
