import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { StopOptions } from '../../src/modules/lifecycle.js';
import type { DispatchEventMap, DispatchEvents } from '../../src/observe/dispatch-events.js';
import {
  OutboxPublisher,
  type PublisherCheckContext,
  type PublisherHealth,
  type PublisherProblem,
} from '../../src/publish/outbox-publisher.js';

export const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** A publisher with a connection. Notes its calls in `steps`; each of them does what the test says. */
export class Broker extends OutboxPublisher {
  override readonly name: string;
  readonly steps: string[];
  problems: PublisherProblem[] = [];
  context: PublisherCheckContext | undefined;
  onStart: () => Promise<void> | void = () => {};
  onCheck: () => Promise<void> | void = () => {};
  onPublish: (row: OutboxRow) => Promise<void> | void = () => {};
  onStop: (options: StopOptions) => Promise<void> | void = () => {};

  constructor(name = 'broker', steps: string[] = []) {
    super();
    this.name = name;
    this.steps = steps;
  }

  override async start(): Promise<void> {
    this.steps.push(`start ${this.name}`);
    await this.onStart();
  }

  override async check(context: PublisherCheckContext): Promise<readonly PublisherProblem[]> {
    this.steps.push(`check ${this.name}`);
    this.context = context;
    await this.onCheck();
    return this.problems;
  }

  async publish(row: OutboxRow): Promise<void> {
    this.steps.push(`publish ${row.topic}`);
    await this.onPublish(row);
  }

  override async stop(options: StopOptions): Promise<void> {
    this.steps.push(`stop ${this.name}`);
    await this.onStop(options);
  }

  override health(): PublisherHealth {
    return { isConnected: true };
  }
}

/** The problems that are reported from now on. */
export function problemsOf(events: DispatchEvents): Array<DispatchEventMap['publisherProblem']> {
  const problems: Array<DispatchEventMap['publisherProblem']> = [];
  events.on('publisherProblem', (problem) => problems.push(problem));
  return problems;
}

export const required: PublisherProblem = {
  level: 'required',
  problem: 'no stream takes order.*',
  fix: 'create one',
};
export const warning: PublisherProblem = {
  level: 'warning',
  problem: 'kept in memory',
  fix: 'use a disk',
};
