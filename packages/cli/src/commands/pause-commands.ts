import { OutboxPauses } from '@postcommit/core';
import { agoText } from '../age-format.js';
import type { CommandContext, OutboxCommand } from '../outbox-command.js';
import { quoted, word } from '../printable.js';
import { formatTable } from '../table.js';

export const pauseCommand: OutboxCommand = {
  name: 'outbox:pause',
  description: 'Stop publishing a topic in all processes, or list the paused topics',
  requires: [OutboxPauses],
  configure(command) {
    command.argument('[topic]', 'exactly this topic; without it, list the paused ones');
  },
  async run(context) {
    const { app, args, output } = context;
    const [topic] = args;
    if (topic === undefined) return listPaused(context);
    const result = (await app.get(OutboxPauses).pause(topic)) ? 'paused' : 'already-paused';
    output.show({ plain: [`outbox:pause topic=${word(topic)} ${result}`], json: { topic, result } });
  },
};

export const resumeCommand: OutboxCommand = {
  name: 'outbox:resume',
  description: 'Publish a paused topic again',
  requires: [OutboxPauses],
  configure(command) {
    command.argument('<topic>', 'exactly this topic');
  },
  async run({ app, args: [topic = ''], output }) {
    const result = (await app.get(OutboxPauses).resume(topic)) ? 'resumed' : 'not-paused';
    output.show({ plain: [`outbox:resume topic=${word(topic)} ${result}`], json: { topic, result } });
  },
};

async function listPaused({ app, output }: CommandContext): Promise<void> {
  const paused = await app.get(OutboxPauses).list();
  output.show({
    plain: paused.map(({ topic, sinceMs }) => `${word(topic)} paused since=${quoted(agoText(sinceMs))}`),
    json: paused,
    terminal: (columns) =>
      paused.length === 0
        ? ['no topic is paused']
        : formatTable(
            ['topic', 'paused'],
            paused.map(({ topic, sinceMs }) => [topic, agoText(sinceMs)]),
            columns,
          ),
  });
}
