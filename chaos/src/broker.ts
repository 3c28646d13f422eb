import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('child/broker.mjs', import.meta.url));

/** A broker in a process of its own, which can be killed and started again at the same port. */
export class Broker {
  readonly port: number;
  #process: ChildProcess;

  static async start(): Promise<Broker> {
    const { process, port } = await launch(0);
    return new Broker(process, port);
  }

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  /** SIGKILL: connections break, and new ones are refused. */
  async kill(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  async restart(): Promise<void> {
    this.#process = (await launch(this.port)).process;
  }
}

async function launch(wanted: number): Promise<{ process: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [PROGRAM, String(wanted)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return { process: child, port: Number(port.toString()) };
}

/** Resolves when the broker has confirmed the message. Rejects with the error of the socket, as most clients do. */
export function sendTo(port: number, message: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', signal }, () => socket.write(`${message}\n`));
    socket.once('data', () => {
      resolve();
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('end', () => reject(new ConnectionLost('the broker hung up')));
  });
}

class ConnectionLost extends Error {
  readonly code = 'ECONNRESET';
}
