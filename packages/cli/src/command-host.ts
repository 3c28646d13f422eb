/** The part of a stream that commands use. */
export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The process around the commands. Replace it in tests. */
export interface CommandHost {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** A command has ended with this; what is still open may close. */
  setExitCode(code: number): void;
  /** Help was shown or the arguments were refused: nothing runs. Must not return. */
  exit(code: number): never;
}

export const processHost: CommandHost = {
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  setExitCode: (code) => {
    process.exitCode = code;
  },
  exit: (code) => process.exit(code),
};
