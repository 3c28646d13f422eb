import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { registerOutboxCommands } from '@postcommit/cli';
import { OUTBOX_APP, OutboxModule } from '@postcommit/nestjs';
import { Command } from 'commander';
import { AppModule } from './app.module.js';

async function run(): Promise<void> {
  const app = await NestFactory.createApplicationContext(OutboxModule.forCommands(AppModule), {
    logger: ['error'],
  });
  const program = new Command('shop');
  registerOutboxCommands(program, app.get(OUTBOX_APP));
  await program.parseAsync();
  await app.close();
}
void run();
