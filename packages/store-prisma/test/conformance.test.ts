import { describeOutboxStore } from '@postcommit/store-testkit';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { storeHarness } from '../../store-sql/test/sql-fixture.js';
import { prismaStores, usePrisma } from './prisma-stores.js';

const fixture = usePostgres();
const prisma = usePrisma(fixture);

describeOutboxStore('PrismaOutboxStore', storeHarness(fixture, prismaStores(prisma)));
