import { describeOutboxStore } from '@postcommit/store-testkit';
import { postgresHarness, usePostgres } from '../../sql/test/postgres-fixture.js';
import { prismaStores, usePrisma } from './prisma-stores.js';

const fixture = usePostgres();
const prisma = usePrisma(fixture);

describeOutboxStore('PrismaOutboxStore', postgresHarness(fixture, prismaStores(prisma)));
