import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { assertKnownOptions, type OptionNames } from '@postcommit/core';
import { CommandError, ExitCode } from './command-error.js';
import type { OutboxCliConfig } from './outbox-cli-config.js';

const CONFIG_NAMES: OptionNames<OutboxCliConfig> = { modules: true, preferences: true, close: true };

const FILES = ['outbox.config.ts', 'outbox.config.js', 'outbox.config.mjs'];

/** Loads the named config file, or the one in the folder. Returns undefined if there is none. */
export async function loadConfig(folder: string, named?: string): Promise<OutboxCliConfig | undefined> {
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

function asConfig(exported: unknown, file: string): OutboxCliConfig {
  const config = exported as Partial<OutboxCliConfig> | null | undefined;
  if (!Array.isArray(config?.modules))
    throw new CommandError(
      `${file} has no modules: write export default defineConfig({ modules: [OutboxModule.forRoot({ publisher }), …] })`,
    );
  assertKnownOptions(file, config, CONFIG_NAMES);
  return { ...config, modules: config.modules };
}
