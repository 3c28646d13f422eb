import type { WriteStream } from 'node:tty';
import type { Counters } from './counters.js';
import { wrap } from './layout.js';
import { paint, type Tone } from './paint.js';
import { statusBlock, statusLine } from './status-lines.js';

const TIME_WIDTH = 8;
const DEFAULT_COLUMNS = 80;

/** Where the story is told. */
export interface Screen {
  /** How often new counters are worth showing. */
  readonly refreshMs: number;
  readonly columns: number;
  /** A line of the story, with the time since the start. */
  say(text: string, tone?: Tone): void;
  show(counters: Counters, isAKilled: boolean): void;
  /** Lines as they are, below everything else. */
  print(lines: readonly string[]): void;
  /** Leaves the terminal as it was. */
  close(): void;
}

export function openScreen(stdout: WriteStream): Screen {
  const isTerminal = stdout.isTTY && process.env.TERM !== 'dumb';
  return isTerminal ? new TerminalScreen(stdout) : new LogScreen(stdout);
}

/** The story scrolls by; the counters stand below it and are drawn over in place. */
class TerminalScreen implements Screen {
  readonly refreshMs = 100;
  readonly #stdout: WriteStream;
  readonly #startedAt = performance.now();
  #block: string[] = [];
  #drawn: string[] = [];

  constructor(stdout: WriteStream) {
    this.#stdout = stdout;
    stdout.write('\u001b[?25l'); // no cursor that jumps about
  }

  /** A terminal that does not know its width says 0. */
  get columns(): number {
    return this.#stdout.columns || DEFAULT_COLUMNS;
  }

  say(text: string, tone: Tone = 'plain'): void {
    const time = secondsSince(this.#startedAt).padStart(TIME_WIDTH - 2);
    const [first = '', ...rest] = wrap(text, this.columns - TIME_WIDTH - 1);
    this.#redraw([
      `${paint('dim', time)}  ${paint(tone, first)}`,
      ...rest.map((line) => ' '.repeat(TIME_WIDTH) + paint(tone, line)),
    ]);
  }

  show(counters: Counters, isAKilled: boolean): void {
    this.#block = ['', ...statusBlock(counters, isAKilled, this.columns)];
    this.#redraw([]);
  }

  /** The counters stay above as they are. */
  print(lines: readonly string[]): void {
    this.#block = [];
    this.#drawn = [];
    this.#redraw(lines);
  }

  close(): void {
    this.#stdout.write('\u001b[?25h');
  }

  /** In one write, so that no half-drawn screen is ever seen. */
  #redraw(above: readonly string[]): void {
    // After a resize a line of the block may take more than one row.
    const rows = this.#drawn.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(line.length / this.columns)),
      0,
    );
    const wipe = rows > 0 ? `\u001b[${rows}A\r\u001b[J` : '';
    this.#stdout.write(wipe + [...above, ...this.#block].map((line) => `${line}\n`).join(''));
    this.#drawn = this.#block;
  }
}

/** Plain lines, for logs and pipes. */
class LogScreen implements Screen {
  readonly refreshMs = 2_000;
  readonly columns = DEFAULT_COLUMNS;
  readonly #stdout: WriteStream;
  readonly #startedAt = performance.now();

  constructor(stdout: WriteStream) {
    this.#stdout = stdout;
  }

  say(text: string, tone: Tone = 'plain'): void {
    const time = secondsSince(this.#startedAt).padStart(TIME_WIDTH - 2);
    this.print([`${paint('dim', time)}  ${paint(tone, text)}`]);
  }

  show(counters: Counters): void {
    this.print([`${' '.repeat(TIME_WIDTH)}${statusLine(counters)}`]);
  }

  print(lines: readonly string[]): void {
    this.#stdout.write(lines.map((line) => `${line}\n`).join(''));
  }

  close(): void {}
}

function secondsSince(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}
