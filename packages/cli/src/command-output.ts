import { oneLine } from './command-error.js';
import type { CommandHost } from './command-host.js';
import { jsonText, printable } from './printable.js';

export type OutputMode = 'plain' | 'terminal' | 'json';

/** A result in every output format. */
export interface Shown {
  /** For pipes and `--plain`. */
  readonly plain: readonly string[];
  /** For `--json`. */
  readonly json: unknown;
  /** For a terminal of this width. @default the plain lines */
  readonly terminal?: (columns: number) => readonly string[];
}

const DEFAULT_COLUMNS = 80;

/** Writes the output of a command. Escapes control characters, so that none reaches the terminal. */
export class CommandOutput {
  readonly mode: OutputMode;
  readonly #host: CommandHost;
  readonly #name: string;

  constructor(
    name: string,
    host: CommandHost,
    options: { readonly plain?: boolean; readonly json?: boolean },
  ) {
    this.#name = name;
    this.#host = host;
    this.mode = options.json ? 'json' : options.plain || !host.stdout.isTTY ? 'plain' : 'terminal';
  }

  /** Some terminals report a width of 0. */
  get columns(): number {
    return this.#host.stdout.columns || DEFAULT_COLUMNS;
  }

  show({ plain, json, terminal }: Shown): void {
    if (this.mode === 'json') this.#write([jsonText(json)]);
    else this.#write(this.mode === 'terminal' && terminal ? terminal(this.columns) : plain);
  }

  /** Writes one line to standard error. */
  warn(text: string): void {
    this.#host.stderr.write(`${this.#name}: ${oneLine(text)}\n`);
  }

  /** Overwrites the current line; on a terminal only. */
  progress(line: string): void {
    if (this.mode === 'terminal') this.#host.stdout.write(`\r${printable(line)}\u001b[K`);
  }

  /** Clears the progress line. */
  endProgress(): void {
    if (this.mode === 'terminal') this.#host.stdout.write('\r\u001b[K');
  }

  #write(lines: readonly string[]): void {
    for (const line of lines) this.#host.stdout.write(`${printable(line)}\n`);
  }
}
