import type { Module, Provider } from '@postcommit/core';

/** What `outbox.config.ts` exports. */
export interface OutboxCliConfig {
  /** The modules of the application; the commands are added. */
  readonly modules: readonly Module[];
  /** Bindings that win over those of the modules. */
  readonly preferences?: readonly Provider[];
  /** Called when the command has ended: close here what the config file opened, a pool for example. */
  readonly close?: () => Promise<unknown> | unknown;
}

/** Gives types to a config file; it changes nothing. */
export function defineConfig(config: OutboxCliConfig): OutboxCliConfig {
  return config;
}
