import { PrismaClient } from '../../../packages/store-prisma/test/gen/client.js';

export { OutboxModule } from '@postcommit/nestjs';

export class PrismaService extends PrismaClient {}
