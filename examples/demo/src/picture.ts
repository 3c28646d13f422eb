/** The output of the demo as a picture of a terminal, for the documentation. */
import { wrap } from './layout.js';
import { CODES, type Tone } from './paint.js';

/** Text in one tone. */
interface Run {
  readonly tone: Tone;
  readonly text: string;
}

type Line = readonly Run[];

const COLUMNS = 80;
const LINE_HEIGHT = 20;
const PADDING = 20;
const CHARACTER_WIDTH = 8.45;

const STYLE = `
    rect { fill: #161b22; }
    text { font: 14px ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace; white-space: pre; fill: #e6edf3; }
    .bold { font-weight: 700; }
    .dim { fill: #9aa4af; }
    .good { fill: #56d364; }
    .bad { fill: #ff8f87; }
    .warning { fill: #e3b341; }
  `;

/** The story and the closing table. Times and counters are left out: they are different in every run. */
export function linesOf(output: string): Line[] {
  return output
    .trimEnd()
    .split('\n')
    .map(runsOf)
    .filter((line) => !/^ {8}committed /.test(plain(line)))
    .flatMap((line) => (hasTime(line) ? wrapped(line.slice(1)) : [line]));
}

export function draw(lines: readonly Line[]): string {
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * PADDING);
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const drawn = lines.map((line, index) => textElement(line, PADDING + LINE_HEIGHT * (index + 0.75)));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="What npm run demo prints">
  <style>${STYLE}</style>
  <rect width="${width}" height="${height}" rx="10" />
${drawn.filter((element) => element !== '').join('\n')}
</svg>
`;
}

/** What every run has in common, as one text: numbers and ids are masked, as is what only some runs have. */
export function masked(lines: readonly Line[]): string {
  return lines
    .map(plain)
    .join(' ')
    .replace(/on (an embedded PostgreSQL|the PostgreSQL of DATABASE_URL)\S*/, 'on PostgreSQL')
    .replace(/(· delivered again).*(Every committed)/, '$1 $2')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/[\d,.]*\d/g, 'N')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The lines that a picture shows. */
export function linesIn(picture: string): Line[] {
  return [...picture.matchAll(/<text[^>]*>(.*)<\/text>/g)].map(([, content = '']) => [
    { tone: 'plain', text: unescaped(content.replace(/<[^>]+>/g, '')) },
  ]);
}

function runsOf(line: string): Line {
  const [before = '', ...parts] = line.split('\u001b[');
  const painted = parts.map((part): Run => {
    const [, code, text = ''] = /^(\d+)m(.*)$/.exec(part) ?? [];
    return { tone: toneOf(code), text };
  });
  return [{ tone: 'plain' as const, text: before }, ...painted].filter(({ text }) => text !== '');
}

function toneOf(code = ''): Tone {
  const tones = Object.keys(CODES) as Tone[];
  return tones.find((tone) => CODES[tone] === code) ?? 'plain';
}

function plain(line: Line): string {
  return line.map(({ text }) => text).join('');
}

function hasTime([first]: Line): boolean {
  return first?.tone === 'dim' && /^ *[\d.]+ s$/.test(first.text);
}

/** A line of the story has one tone. */
function wrapped(line: Line): Line[] {
  const tone = line.at(-1)?.tone ?? 'plain';
  const [first = '', ...rest] = wrap(plain(line).trim(), COLUMNS - 2);
  return [first, ...rest.map((text) => `  ${text}`)].map((text) => [{ tone, text }]);
}

function textElement(line: Line, y: number): string {
  if (plain(line) === '') return '';
  const runs = line.map(({ tone, text }) =>
    tone === 'plain' ? escaped(text) : `<tspan class="${tone}">${escaped(text)}</tspan>`,
  );
  return `  <text xml:space="preserve" x="${PADDING}" y="${y}">${runs.join('')}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
