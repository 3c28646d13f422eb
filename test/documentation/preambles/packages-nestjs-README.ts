import { PrismaClient } from '../../../packages/store-prisma/test/gen/client.js';

export { Injectable, Module } from '@nestjs/common';
export { OnOutboxEvent, OutboxEmitter, type OutboxEventContext, OutboxModule } from '@postcommit/nestjs';

export class PrismaService extends PrismaClient {}
