import { once } from 'node:events';
import type { Server } from 'node:net';

// Below the ports that systems use for outgoing connections. Nobody takes such a port while it is closed, and a client that
// tries again and again to reach a closed one can't be connected to itself.
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const TRIES = 50;

/** Listens on a port of this host, or on any that is free. Returns the port. */
export async function listenOn(server: Server, port?: number): Promise<number> {
  if (port !== undefined) return listen(server, port);
  for (let tries = 1; ; tries++) {
    const candidate = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    try {
      return await listen(server, candidate);
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return port;
}
