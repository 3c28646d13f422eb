import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OutboxApp } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import { CommandError, ExitCode } from './command-error.js';
import type { OutboxCliConfig } from './outbox-cli-config.js';

const CONFIG_NAMES: OptionNames<OutboxCliConfig> = { modules: true, preferences: true, close: true };

const FILES = ['outbox.config.ts', 'outbox.config.js', 'outbox.config.mjs'];

/** What a config file exports: a configuration, or the outbox that the application made with `createOutbox`. */
export type LoadedConfig = OutboxCliConfig | ExportedOutbox;

/** The part of an outbox that is used. */
interface ExportedOutbox {
  readonly app: OutboxApp;
  /** An outbox does not say what else to close; the process ends without closing it. */
  readonly close?: undefined;
}

/** Loads the named config file, or the one in the folder. Returns undefined if there is none. */
export async function loadConfig(folder: string, named?: string): Promise<LoadedConfig | undefined> {
  const file = named ?? FILES.find((name) => existsSync(join(folder, name)));
  if (file === undefined) return undefined;
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new CommandError(`config file not found: ${file}`, ExitCode.usage);
  return asConfig(await evaluate(path, file), file);
}

async function evaluate(path: string, file: string): Promise<unknown> {
  // Imported lazily: it is slow to load, and not needed without a config file.
  const { createJiti } = await import('jiti');
  try {
    // No cache on disk: transforming one small file takes no time.
    return await createJiti(path, { fsCache: false }).import(path, { default: true });
  } catch (error) {
    throw new CommandError(`${file} could not be loaded`, ExitCode.failed, { cause: error });
  }
}

function asConfig(exported: unknown, file: string): LoadedConfig {
  if (isOutbox(exported)) return { app: exported.app };
  const config = exported as Partial<OutboxCliConfig> | null | undefined;
  if (!Array.isArray(config?.modules))
    throw new CommandError(
      `${file} exports no outbox: write export default createOutbox({ store, publisher }), or export default defineConfig({ modules })`,
    );
  assertKnownOptions(file, config, CONFIG_NAMES);
  return { ...config, modules: config.modules };
}

/** By shape: the file may have loaded another copy of the core. */
function isOutbox(exported: unknown): exported is ExportedOutbox {
  const { app } = (exported ?? {}) as { readonly app?: Partial<OutboxApp> };
  return typeof app?.get === 'function' && typeof app.has === 'function';
}
