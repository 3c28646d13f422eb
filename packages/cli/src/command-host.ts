import { createInterface } from 'node:readline/promises';

/** The part of a stream that commands use. */
export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The process that commands run in. Replace it in tests. */
export interface CommandHost {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Asks the user to type yes. Undefined where there is no terminal. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  /** Sets the exit code of a command that has ended. The process may still close what is open. */
  setExitCode(code: number): void;
  /** Exits at once: help was shown, the arguments are invalid, or the user interrupted twice. Must not return. */
  exit(code: number): never;
}

export const processHost: CommandHost = {
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  get confirm() {
    return process.stdin.isTTY && process.stdout.isTTY ? confirmOnTerminal : undefined;
  },
  setExitCode: (code) => {
    process.exitCode = code;
  },
  exit: (code) => process.exit(code),
};

async function confirmOnTerminal(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const isClosed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${question} [yes/no] `), isClosed]);
    return answer.trim().toLowerCase() === 'yes';
  } finally {
    terminal.close();
  }
}
