/** Leaves in test/gen the client of schema.prisma and ../outbox.prisma. */
export function setup(): Promise<void>;
