export { PrismaPg } from '@prisma/adapter-pg';
export { defineConfig } from 'prisma/config';
export { PrismaClient } from '../../../packages/store-prisma/test/gen/client.js';
