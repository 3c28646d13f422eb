import { type EnqueueOptions } from './enqueue.js';
import { type Module } from './modules/module.js';
import { type OutboxConfig } from './outbox-config.js';
import { OutboxPublisher, type PublishFunction } from './outbox-publisher.js';
import { type OutboxSignalListener } from './outbox-signals.js';
import { type WorkerConfig } from './worker-config.js';
/** Called for alerts, each after what it tells is in the table. A hook that fails never holds up a row. */
export interface OutboxHooks {
    /** A row failed for the first time and will be tried again. */
    readonly onFirstFailure?: OutboxSignalListener<'firstFailure'>;
    readonly onDead?: OutboxSignalListener<'dead'>;
    /** The worker saw at least `threshold` pending rows; again only after there were less. */
    readonly onBacklog?: {
        readonly threshold: number;
        readonly notify: OutboxSignalListener<'backlog'>;
    };
}
export interface OutboxModuleOptions extends Partial<OutboxConfig>, Omit<Partial<WorkerConfig>, 'backlogThreshold'>, OutboxHooks, Pick<EnqueueOptions, 'schemas' | 'maxPayloadBytes'> {
    /** Short for a preference that binds `OutboxPublisher`. */
    readonly publisher?: OutboxPublisher | PublishFunction | undefined;
    /** False in a process that only enqueues: `app.start()` then runs no worker. Default true. */
    readonly worker?: boolean;
}
/**
 * The heart of every line-up: the enqueue pipeline, the dispatcher and the worker. Compose it with one store module.
 * It is a module itself, with all defaults; `forRoot` takes options.
 */
export declare const OutboxModule: Module & {
    forRoot(options?: OutboxModuleOptions): Module;
};
