import {
  isOutboxError,
  type OutboxApp,
  type OutboxBacklog,
  OutboxSchema,
  OutboxStore,
  type SchemaProblem,
} from '@postcommit/core';
import { type DiagnosticLimits, OutboxDiagnostics } from '@postcommit/core/internal';
import { CommandError } from '../command-error.js';
import { findingLine, findingLines, healthLine, healthLines } from '../doctor-format.js';
import { noteJson, noteLine, noteTexts, pollingTexts } from '../note-format.js';
import { takeNotes } from '../notes.js';
import type { OutboxCommand } from '../outbox-command.js';
import { parseDurationMs } from '../parse-options.js';

interface DoctorOptions {
  readonly transactionAge: number;
}

export const doctorCommand: OutboxCommand = {
  name: 'outbox:doctor',
  description: 'Diagnose problems and print fixes',
  configure(command) {
    command.option(
      '--transaction-age <duration>',
      'report transactions that have been open for longer; default 5m',
      parseDurationMs,
      5 * 60_000,
    );
  },
  async run({ app, options, output }) {
    const { transactionAge }: DoctorOptions = options as DoctorOptions;
    const problems = await findAll(app, { transactionAgeMs: transactionAge });
    const backlog = await backlogOf(app);
    const notes = await takeNotes(app);
    const texts = [...noteTexts(notes), ...pollingTexts(notes)];
    output.show({
      plain: [healthLine(backlog, problems), ...texts.map(noteLine), ...problems.map(findingLine)],
      json: { ...backlog, ...noteJson(notes), ...(notes && { workers: notes.workers }), problems },
      terminal: () => [...healthLines(backlog, texts, problems), ...problems.flatMap(findingLines)],
    });
    const required = problems.filter(({ level }) => level === 'required').length;
    if (required > 0) throw new CommandError(requiredText(required));
  },
};

function requiredText(required: number): string {
  return `${required} ${required === 1 ? 'problem' : 'problems'} must be fixed before the outbox can run`;
}

async function findAll(app: OutboxApp, limits: DiagnosticLimits): Promise<SchemaProblem[]> {
  return [
    ...(app.has(OutboxSchema) ? await app.get(OutboxSchema).check() : []),
    ...(app.has(OutboxDiagnostics) ? await app.get(OutboxDiagnostics).find(limits) : []),
  ];
}

/** Undefined if there is no usable table; the problems then include that. */
async function backlogOf(app: OutboxApp): Promise<OutboxBacklog | undefined> {
  try {
    return await app.get(OutboxStore).backlog();
  } catch (error) {
    if (isOutboxError(error) && error.code === 'SCHEMA_OUTDATED') return undefined;
    throw error;
  }
}
