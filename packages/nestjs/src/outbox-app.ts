/**
 * The token of the composed outbox, an `OutboxApp`: whatever its modules bind can be had by its `get`, and
 * `registerOutboxCommands` of @postcommit/cli takes it.
 */
export const OUTBOX_APP: unique symbol = Symbol.for('@postcommit/nestjs/app');
