export type Tone = 'plain' | 'bold' | 'dim' | 'good' | 'bad' | 'warning';

export const CODES: Readonly<Record<Tone, string>> = {
  plain: '',
  bold: '1',
  dim: '2',
  good: '32',
  bad: '31',
  warning: '33',
};

/** Colour only where the terminal has it; Node honours NO_COLOR and TERM=dumb. A pipe has it on request. */
const hasColors = process.stdout.isTTY ? process.stdout.hasColors() : process.env.FORCE_COLOR === '1';

export function paint(tone: Tone, text: string): string {
  return hasColors && tone !== 'plain' ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text;
}
