import {
  type CommandHost,
  OutboxCliModule,
  type RegisterOptions,
  registerOutboxCommands,
} from '@postcommit/cli';
import {
  composeModules,
  type Module,
  type OutboxApp,
  OutboxModule,
  type OutboxModuleOptions,
  OutboxStore,
} from '@postcommit/core';
import { MemoryTable, memoryStore } from '@postcommit/store-memory';
import { Command } from 'commander';
import { printErrorsInOneLine } from '../src/register-outbox-commands.js';

class Exited extends Error {}

/** An application's own program in memory, and what it printed. */
export class CommandLine {
  readonly app: OutboxApp;
  readonly #options: RegisterOptions;
  readonly #isTTY: boolean;

  constructor(
    modules: readonly Module[] = [],
    options: RegisterOptions & {
      readonly outbox?: OutboxModuleOptions;
      readonly isTTY?: boolean;
      readonly table?: MemoryTable;
    } = {},
  ) {
    const {
      outbox = { publisher: async () => {} },
      isTTY = false,
      table = new MemoryTable(),
      ...registering
    } = options;
    this.app = composeModules([
      OutboxModule.forRoot(outbox),
      memoryStore({ table }),
      OutboxCliModule,
      ...modules,
    ]);
    this.#options = registering;
    this.#isTTY = isTTY;
  }

  get store(): OutboxStore {
    return this.app.get(OutboxStore);
  }

  async run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const ended = { code: 0, stdout: '', stderr: '' };
    const host: CommandHost = {
      stdout: {
        write: (text) => {
          ended.stdout += text;
        },
        isTTY: this.#isTTY,
        columns: 100,
      },
      stderr: {
        write: (text) => {
          ended.stderr += text;
        },
      },
      setExitCode: (code) => {
        ended.code = code;
      },
      exit: (code) => {
        ended.code = code;
        throw new Exited();
      },
    };
    const program = new Command('myapp');
    printErrorsInOneLine(program, host);
    registerOutboxCommands(program, this.app, { ...this.#options, host });
    await program.parseAsync(args, { from: 'user' }).catch((error) => {
      if (!(error instanceof Exited)) throw error;
    });
    return ended;
  }
}
