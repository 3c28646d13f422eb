import { expect, it } from 'vitest';
import { PageProgram } from '../documentation/page-program.js';

/** A process of its own, since the signals are real. Nothing but `runUntilSignal` keeps it alive. */
function program(lifecycle: string): Promise<PageProgram> {
  const main = `
    import { composeModules, Lifecycles, runUntilSignal } from '@postcommit/core';
    const useValue = { name: 'part', start: () => {}, ${lifecycle} };
    const app = composeModules([{ name: 'app', contributes: [{ to: Lifecycles, useValue }] }]);
    await app.start();
    const stopped = runUntilSignal(app);
    console.log('ready');
    await stopped;
    console.log('stopped', process.listenerCount('SIGTERM') + process.listenerCount('SIGINT'));
  `;
  return PageProgram.run({ 'src/main.ts': main });
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s stops the application, and the process exits with 0',
  async (signal) => {
    const running = await program("stop: () => console.log('stopping')");
    await running.says(/^ready$/);
    expect(await running.signal(signal), running.complaints.join('\n')).toBe(0);
    expect(running.lines).toEqual(['ready', 'stopping', 'stopped 0']);
  },
);

it('a failing stop ends the process with its error', async () => {
  const running = await program("stop: () => { throw new Error('the pool is stuck'); }");
  await running.says(/^ready$/);
  expect(await running.signal('SIGTERM')).toBe(1);
  expect(running.complaints.join('\n')).toContain('the pool is stuck');
});

it('a second signal ends the process at once, as by default', async () => {
  const running = await program(
    "stop: () => { console.log('stopping'); return new Promise(() => setInterval(() => {}, 1_000)); }",
  );
  await running.says(/^ready$/);
  const ended = running.signal('SIGTERM');
  await running.says(/^stopping$/);
  await running.signal('SIGTERM');
  expect(await ended).toBe('SIGTERM');
});
