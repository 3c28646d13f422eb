import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { OutboxError, type PublisherCheckContext, type PublisherProblem } from '@postcommit/core';
import type { NatsPublisherOptions } from './nats-options.js';
import { apiCodeOf, isForbidden, publishError } from './publish-errors.js';
import type { Session } from './sessions.js';
import { declareStream, findStream, settingProblems } from './stream-settings.js';

/** The stream of a publisher: declared before the first message, and checked. */
export class StreamTopology {
  readonly #options: NatsPublisherOptions;
  readonly #timeoutMs: number;
  #declared: Promise<void> | undefined;

  constructor(options: NatsPublisherOptions, timeoutMs: number) {
    this.#options = options;
    this.#timeoutMs = timeoutMs;
  }

  /** Declares the stream if that is wanted: once, unless it fails. */
  async ensure(session: Session): Promise<void> {
    if (!this.#options.declare) return;
    this.#declared ??= this.#declare(session);
    try {
      await this.#declared;
    } catch (error) {
      this.#declared = undefined;
      throw error;
    }
  }

  /** The next `ensure` declares the stream again. */
  forget(): void {
    this.#declared = undefined;
  }

  async problems(
    session: Session,
    { redeliveryAfterMs }: PublisherCheckContext,
  ): Promise<PublisherProblem[]> {
    const { stream: name, subjects = [] } = this.#options;
    if (name === undefined) return [UNKNOWN_STREAM];
    try {
      const stream = await findStream(await this.#manager(session), name);
      if (!stream) return [missing(name)];
      const latestMs = redeliveryAfterMs + this.#timeoutMs;
      return settingProblems(stream, {
        subjects,
        redeliveryAfterMs: latestMs,
        isCluster: isClustered(session),
      });
    } catch (error) {
      if (isForbidden(error)) return [unreadable(name)];
      throw this.#apiError(error);
    }
  }

  async #declare(session: Session): Promise<void> {
    const { stream: name = '', subjects = [], declare } = this.#options;
    const settings = typeof declare === 'object' ? declare : {};
    try {
      const manager = await this.#manager(session);
      await declareStream(manager, { name, subjects, isCluster: isClustered(session), ...settings });
    } catch (error) {
      const code = apiCodeOf(error);
      if (code === undefined) throw this.#apiError(error);
      const problem = `stream ${name} could not be created (code ${code})`;
      throw new OutboxError('INVALID_CONFIG', problem, { cause: error });
    }
  }

  #manager({ connection }: Session): Promise<JetStreamManager> {
    const { domain } = this.#options;
    return jetstreamManager(connection, {
      checkAPI: false,
      timeout: this.#timeoutMs,
      ...(domain !== undefined && { domain }),
    });
  }

  #apiError(error: unknown): unknown {
    return publishError(error, { id: '', subject: 'the JetStream API', stream: this.#options.stream });
  }
}

const UNKNOWN_STREAM: PublisherProblem = {
  level: 'warning',
  problem: 'the settings of the stream are not checked: its name is not known',
  fix: 'pass stream',
};

function unreadable(name: string): PublisherProblem {
  return {
    level: 'warning',
    problem: `the settings of stream ${name} are not checked: the user may not read them`,
    fix: `allow the user to publish to $JS.API.STREAM.INFO.${name}`,
  };
}

function missing(name: string): PublisherProblem {
  return {
    level: 'required',
    problem: `there is no stream ${name}`,
    fix: 'create it, or pass subjects and declare: true',
  };
}

function isClustered({ connection }: Session): boolean {
  return connection.info?.cluster !== undefined;
}
