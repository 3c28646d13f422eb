import { type CommandHost, OutboxCliModule, registerOutboxCommands } from '@postcommit/cli';
import { composeModules, type Module, OutboxModule, type OutboxModuleOptions } from '@postcommit/core';
import { OutboxTypeormModule } from '@postcommit/store-typeorm';
import { Command } from 'commander';
import { DataSource } from 'typeorm';

class Exited extends Error {}

/** `myapp` of the document: a program of its own with `OutboxCliModule` in its modules list. Gives what it printed. */
export async function myapp(
  url: string,
  commandLine: string,
  options: OutboxModuleOptions = { publisher: async () => {} },
): Promise<{ code: number; stdout: string; stderr: string }> {
  const ended = { code: 0, stdout: '', stderr: '' };
  const modules: Module[] = [
    OutboxModule.forRoot(options),
    OutboxTypeormModule.forRoot({
      dataSource: (entities) => new DataSource({ type: 'postgres', url, entities }),
    }),
    OutboxCliModule,
  ];
  const program = new Command('myapp');
  registerOutboxCommands(program, composeModules(modules), { host: recordingHost(ended) });
  await program.parseAsync(commandLine.split(' '), { from: 'user' }).catch((error) => {
    if (!(error instanceof Exited)) throw error;
  });
  return ended;
}

function recordingHost(ended: { code: number; stdout: string; stderr: string }): CommandHost {
  return {
    stdout: {
      write: (text) => {
        ended.stdout += text;
      },
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
}
