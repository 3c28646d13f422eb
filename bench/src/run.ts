import type { Case, Setting } from './case.js';
import { allCases } from './cases/all.js';
import { describeMachine } from './machine.js';
import { chosen, type Options } from './options.js';
import type { Server } from './place.js';
import { type CaseResult, caseResult, type Results, type SubjectResult } from './report/results.js';
import { caseSection } from './report/table.js';
import type { Subject } from './subject.js';
import { subjects } from './subjects/all.js';
import { runTrials } from './trials.js';

/** What a minute is enough for. */
const SHORT = {
  cases: ['enqueue', 'bulk', 'drain'],
  subjects: ['store-pg', 'store-pg-one-call', 'raw-sql', 'graphile-worker'],
};

export interface Plan {
  readonly cases: readonly Case[];
  readonly setting: Setting;
  describe(): string;
}

/** Selects cases and subjects before anything is started, so that an unknown word is reported at once. */
export async function plan(options: Options): Promise<Plan> {
  const among = options.short ? subjects.filter(({ id }) => SHORT.subjects.includes(id)) : subjects;
  const asked = chosen('--subjects', among, options.subjects);
  const setting = { scale: options.scale, subjects: asked, absent: await findAbsent(asked, options) };
  const known = allCases(setting);
  const offered = options.short ? known.filter(({ id }) => SHORT.cases.includes(id)) : known;
  const cases = chosen('--case', offered, options.cases);
  return { cases, setting, describe: () => estimate(cases, options) };
}

async function findAbsent(asked: readonly Subject[], { walLevel }: Options): Promise<Map<Subject, string>> {
  const absent = new Map<Subject, string>();
  for (const subject of asked) {
    const why = await subject.absent?.(walLevel);
    if (why !== undefined) absent.set(subject, why);
  }
  return absent;
}

/** Smaller sizes save less than their part: databases, processes and checkpoints take their time. */
function estimate(cases: readonly Case[], { rounds, scale }: Options): string {
  const trials = cases.flatMap((one) => one.trials);
  const seconds = trials.reduce((sum, trial) => sum + Math.max(1.5, trial.seconds * scale), 0) * rounds;
  const size = `${cases.length} cases, ${trials.length} trials, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`;
  return `${size}: about ${Math.ceil(seconds / 60)} minutes`;
}

export async function measureAll(
  server: Server,
  { cases, setting }: Plan,
  options: Options,
  args: readonly string[],
  save: (results: Results) => void,
): Promise<Results> {
  const startedAt = Date.now();
  const machine = await describeMachine(server, options.walLevel);
  const order = setting.subjects.map(({ name }) => name);
  const done: CaseResult[] = [];
  const run = {
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    rounds: options.rounds,
    scale: options.scale,
  };
  const results = (): Results => ({
    measuredOn: new Date(startedAt).toISOString().slice(0, 10),
    minutes: Math.ceil((Date.now() - startedAt) / 60_000),
    machine,
    subjects: setting.subjects.map((subject) => subjectResult(subject, setting)),
    cases: done,
  });
  for (const one of cases.filter(({ trials }) => trials.length > 0)) {
    process.stderr.write(`${one.title}\n`);
    const result = caseResult(one, run, await runTrials(server, one, options.rounds), order);
    console.log(`\n${caseSection(result)}`);
    done.push(result);
    // The rest may take hours: what is known is not lost with it.
    save(results());
  }
  return results();
}

function subjectResult(subject: Subject, { absent }: Setting): SubjectResult {
  const { name, settings, isOurs = false, isLimit = false, isApart = false } = subject;
  const why = absent.get(subject);
  return { name, settings, isOurs, isLimit, isApart, ...(why !== undefined && { absent: why }) };
}
