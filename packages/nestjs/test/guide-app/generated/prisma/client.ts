// In an application `prisma generate` writes this file. Here it is the client that the Prisma store is tested with.
export * from '../../../../../store-prisma/test/gen/client.js';
