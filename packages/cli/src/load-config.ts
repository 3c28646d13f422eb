import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { assertKnownOptions, type OptionNames } from '@postcommit/core';
import { CommandError, ExitCode } from './command-error.js';
import type { OutboxCliConfig } from './outbox-cli-config.js';

const CONFIG_NAMES: OptionNames<OutboxCliConfig> = { modules: true, preferences: true, close: true };

const FILES = ['outbox.config.ts', 'outbox.config.js', 'outbox.config.mjs'];

/** The config file that was named, or the one that lies in the folder; undefined when there is none. */
export async function loadConfig(folder: string, named?: string): Promise<OutboxCliConfig | undefined> {
  const file = named ?? FILES.find((name) => existsSync(join(folder, name)));
  if (file === undefined) return undefined;
  const path = resolve(folder, file);
  if (!existsSync(path)) throw new CommandError(`there is no config file ${file}`, ExitCode.usage);
  return asConfig(await evaluate(path, file), file);
}

async function evaluate(path: string, file: string): Promise<unknown> {
  // Not at the top: without a config file, it would only take time.
  const { createJiti } = await import('jiti');
  try {
    // Nothing is left behind on disk: one small file is transformed in no time.
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
