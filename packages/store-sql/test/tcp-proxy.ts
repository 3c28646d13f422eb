import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Stands between a client and the server, and can fall silent as a network does: nothing is closed or refused. */
export interface TcpProxy {
  /** The same database through the proxy. */
  readonly url: string;
  /** From now on nothing passes, neither on old nor on new connections. */
  freeze(): void;
  /** New connections pass again; the old ones stay silent. */
  thaw(): void;
}

/** Runs until the test ends. */
export async function tcpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  let isFrozen = false;
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    const isOpen = (): boolean => !isFrozen && !silent.has(from);
    from.on('error', () => {});
    from.on('data', (data) => {
      if (isOpen()) to.write(data);
    });
    from.on('end', () => {
      if (isOpen()) to.end();
    });
  };
  // Half open: not even a goodbye is answered by itself.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    pass(client, upstream);
    pass(upstream, client);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String((server.address() as { port: number }).port);
  return {
    url: proxied.href,
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) silent.add(socket);
    },
    thaw: () => {
      isFrozen = false;
    },
  };
}
