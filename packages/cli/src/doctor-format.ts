import type { OutboxBacklog, SchemaProblem } from '@postcommit/core';
import { quoted } from './printable.js';

/** `outbox:doctor pending=4 oldestPendingAgeMs=1200 problems=0` */
export function healthLine(backlog: OutboxBacklog | undefined, problems: readonly SchemaProblem[]): string {
  const waiting = backlog
    ? ` pending=${backlog.pending} oldestPendingAgeMs=${Math.round(backlog.oldestPendingAgeMs)}`
    : '';
  return `outbox:doctor${waiting} problems=${problems.length}`;
}

export function findingLine({ level, problem, fix }: SchemaProblem): string {
  return `${level} problem=${quoted(problem)} fix=${quoted(fix)}`;
}

export function healthLines(
  backlog: OutboxBacklog | undefined,
  notes: readonly string[],
  problems: readonly SchemaProblem[],
): string[] {
  const ageS = backlog ? Math.round(backlog.oldestPendingAgeMs / 1_000) : 0;
  const waiting = backlog ? [`${backlog.pending} pending, the oldest due for ${ageS} s`] : [];
  return [...waiting, ...notes, problems.length === 0 ? 'no problems found' : countOf(problems.length)];
}

function countOf(problems: number): string {
  return `${problems} ${problems === 1 ? 'problem' : 'problems'}:`;
}

/** The fix follows its problem, ready to copy. */
export function findingLines({ level, problem, fix }: SchemaProblem): string[] {
  return ['', `${level}: ${problem}`, ...fix.split('\n').map((line) => `  ${line}`)];
}
