import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Loaded before a program: each publish asks an address first, and waits for the answer. It changes the module that
 * every composition goes through, since an interceptor is the only thing that all examples have room for.
 */
export const PRELOAD = `
import { OutboxInterceptors, OutboxModule } from '@postcommit/core';

const { forRoot } = OutboxModule;
const publish = async (row, context, next) => {
  await (await fetch(process.env.HELD_PUBLISH_URL)).text();
  return next(row, context);
};
OutboxModule.forRoot = (options) => {
  const module = forRoot(options);
  const interceptor = { to: OutboxInterceptors, useValue: { publish } };
  return { ...module, contributes: [...(module.contributes ?? []), interceptor] };
};
`;

/** Holds the publishes of a program until they are released. */
export class HeldPublish {
  /** Resolves when the first publish is held. */
  readonly reached: Promise<void>;
  readonly #server: Server;
  readonly #held: ServerResponse[] = [];
  #isReleased = false;

  private constructor() {
    let reach = (): void => {};
    this.reached = new Promise((resolve) => {
      reach = resolve;
    });
    this.#server = createServer((_, response) => {
      if (this.#isReleased) return response.end();
      this.#held.push(response);
      reach();
    });
  }

  static async open(): Promise<HeldPublish> {
    const held = new HeldPublish();
    await new Promise<void>((resolve) => held.#server.listen(0, '127.0.0.1', resolve));
    return held;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  release(): void {
    this.#isReleased = true;
    for (const response of this.#held) response.end();
  }

  async close(): Promise<void> {
    this.release();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
