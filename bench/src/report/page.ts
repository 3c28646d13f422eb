import { figure } from '../statistics.js';
import { type CaseResult, middle, type Results } from './results.js';
import { caseSection, table } from './table.js';

const BEGIN = '<!-- measured: begin -->';
const END = '<!-- measured: end -->';

/** A page with everything between its markers replaced: figures are never typed by hand. */
export function pageWith(page: string, measured: string): string {
  const [before, rest] = split(page, BEGIN);
  const [, after] = split(rest, END);
  return `${before}${BEGIN}\n\n${measured}\n${END}${after}`;
}

function split(text: string, marker: string): [string, string] {
  const at = text.indexOf(marker);
  if (at < 0) throw new Error(`the page has no ${marker}`);
  return [text.slice(0, at), text.slice(at + marker.length)];
}

export function measuredPart(results: Results): string {
  const { measuredOn, minutes, machine, cases } = results;
  const facts = [
    ['measured', `${measuredOn}, in ${minutes} minutes`],
    ['machine', `${machine.cores} cores (${machine.processor}), ${machine.memoryGiB} GiB, ${machine.system}`],
    ['Node', machine.node],
    ['PostgreSQL', machine.postgres],
    ['Redis', machine.redis],
  ];
  return [
    `${table(['', ''], facts)}\n`,
    '![Bars of the drain, the enqueue and the latency, by subject](performance.svg)\n',
    `${aheadList(results)}\n`,
    ...cases.map((one) => caseSection(one)),
    `## How each was set up\n\n${settingsTable(results)}\n`,
  ].join('\n');
}

function settingsTable({ subjects }: Results): string {
  return table(
    ['', 'settings'],
    subjects.map(({ name, settings, absent }) => [name, absent ? `${absent} (${settings})` : settings]),
  );
}

/** Lists where another library is ahead of Postcommit's best, so that readers don't have to search for it. */
function aheadList({ cases, subjects }: Results): string {
  const ours = new Set(subjects.filter(({ isOurs, isApart }) => isOurs && !isApart).map(({ name }) => name));
  const others = new Set(
    subjects.filter(({ isOurs, isLimit }) => !isOurs && !isLimit).map(({ name }) => name),
  );
  const found = cases.flatMap((one) => aheadIn(one, ours, others));
  const title = '## Where others are ahead';
  return found.length === 0 ? `${title}\n\nNowhere in this run.` : `${title}\n\n${found.join('\n')}`;
}

function aheadIn(one: CaseResult, ours: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return one.columns.flatMap(({ name, unit, isLessBetter }) => {
    const value = (line: string): number | undefined => middle(one.lines, [line, name]);
    const own = [...ours].flatMap((line) => value(line) ?? []);
    if (own.length === 0) return [];
    const best = isLessBetter ? Math.min(...own) : Math.max(...own);
    const ahead = [...others].flatMap((line) => {
      const other = value(line);
      if (other === undefined || (isLessBetter ? other >= best : other <= best)) return [];
      return [`${line} ${figure(other)}`];
    });
    return ahead.length === 0
      ? []
      : [`- ${one.title}, ${name}: ${ahead.join('; ')}; ours ${figure(best)} ${unit}`];
  });
}
