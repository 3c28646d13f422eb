import type { Module, Provider } from '@postcommit/core';

/** What `outbox.config.ts` exports, if it does not export the outbox of `createOutbox` itself. */
export interface OutboxCliConfig {
  /** The modules of the application. The built-in commands need no `OutboxCliModule`. */
  readonly modules: readonly Module[];
  /** Bindings that override those of the modules. */
  readonly preferences?: readonly Provider[];
  /** Called after the command. Close here what the config file opened, e.g. a pool. */
  readonly close?: () => Promise<unknown> | unknown;
}

/**
 * Returns `config` unchanged. It only adds types to a config file.
 *
 * @example
 * export default defineConfig({ modules: [OutboxModule.forRoot({ publisher }), OutboxPgModule.forRoot({ pool })] });
 */
export function defineConfig(config: OutboxCliConfig): OutboxCliConfig {
  return config;
}
