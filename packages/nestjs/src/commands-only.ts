import type { DynamicModule, Type } from '@nestjs/common';

/** Bound when an application only runs commands. */
export const COMMANDS_ONLY: unique symbol = Symbol.for('@postcommit/nestjs/commands-only');

class OutboxCommandsModule {}

/** Global, so that the lifecycle of `OutboxModule` finds the token wherever `OutboxModule` is imported. */
export function commandsOnly(appModule: Type | DynamicModule): DynamicModule {
  return {
    module: OutboxCommandsModule,
    global: true,
    imports: [appModule],
    providers: [{ provide: COMMANDS_ONLY, useValue: true }],
    exports: [COMMANDS_ONLY],
  };
}
