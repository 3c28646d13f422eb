import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Somebody else's service. While it is closed it refuses orders for good. */
export class Warehouse {
  isOpen = false;
  readonly #accepted = new EventEmitter();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(({ headers }, response) => {
      response.writeHead(this.isOpen ? 204 : 422).end();
      if (this.isOpen) this.#accepted.emit(String(headers['idempotency-key']));
    });
  }

  static async open(): Promise<Warehouse> {
    const warehouse = new Warehouse();
    warehouse.#server.listen(0, '127.0.0.1');
    await once(warehouse.#server, 'listening');
    return warehouse;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async accepts(id: string): Promise<void> {
    await once(this.#accepted, id);
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
