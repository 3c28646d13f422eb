import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { OutboxSchema } from '@postcommit/core';
import { AppModule } from './app.module.js';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  await app.get(OutboxSchema).ensure();
  await app.listen(process.env.PORT ?? 3000);
  new Logger('main').log(`listening on ${await app.getUrl()}`);
}
void bootstrap();
