import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { registerOutboxCommands } from '@postcommit/cli';
import { OUTBOX_APP } from '@postcommit/nestjs';
import { Command } from 'commander';
import { AppModule } from './app.module.js';

async function run(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  const program = new Command('shop');
  registerOutboxCommands(program, app.get(OUTBOX_APP), { managesResources: false });
  await program.parseAsync();
  await app.close();
}
void run();
