/**
 * Injects the composed outbox, an `OutboxApp`. Its `get` returns anything the modules bind; pass it to
 * `registerOutboxCommands` of @postcommit/cli.
 *
 * @example
 * registerOutboxCommands(program, app.get(OUTBOX_APP));
 */
export const OUTBOX_APP: unique symbol = Symbol.for('@postcommit/nestjs/app');
