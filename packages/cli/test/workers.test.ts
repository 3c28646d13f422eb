import { OutboxPauses, OutboxStore } from '@postcommit/core';
import { OutboxWorkers, type WorkerReport, workerToken } from '@postcommit/core/internal';
import { MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { CommandLine } from './command-line.js';

/** What operators see of workers and pauses, with an application in memory whose database stands still. */
let clock: VirtualClock;
let line: CommandLine;
let terminal: CommandLine;

beforeEach(() => {
  clock = new VirtualClock();
  const table = new MemoryTable(clock);
  line = new CommandLine([], { table });
  terminal = new CommandLine([], { table, isTTY: true });
});

const HEALTHY: WorkerReport = { rowsInFlight: 0, isListening: true, outages: [] };
const workers = (): OutboxWorkers => line.app.get(OutboxWorkers);

async function register(id: string, report: Partial<WorkerReport> = {}): Promise<void> {
  const identity = { id, host: `${id}.local`, pid: 17, version: '1.2.0', takeoverMs: 30_000 };
  await workers().register(identity, { ...HEALTHY, ...report });
}

const stdoutOf = async (on: CommandLine, ...args: string[]): Promise<string[]> => {
  const { code, stdout, stderr } = await on.run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
};

describe('outbox:workers', () => {
  it('says who they are, when they were seen last and what they do', async () => {
    await register('a', { rowsInFlight: 100 });
    await register('b', { isListening: false });
    await clock.advance(3_000);
    expect(await stdoutOf(line, 'outbox:workers')).toEqual([
      'a host=a.local pid=17 version=1.2.0 started="3 s ago" lastSeen="3 s ago" rowsInFlight=100 listening',
      'b host=b.local pid=17 version=1.2.0 started="3 s ago" lastSeen="3 s ago" rowsInFlight=0 polling',
    ]);
  });

  it('says when a worker that went silent is taken over, if others are there to do it', async () => {
    await register('dead', { rowsInFlight: 100 });
    await clock.advance(12_000);
    expect((await stdoutOf(line, 'outbox:workers')).join()).toContain(
      'lastSeen="12 s ago" rowsInFlight=100 listening fate="taken over 30 s after another worker has started"',
    );
    await register('alive');
    const [dead, alive] = await stdoutOf(line, 'outbox:workers');
    expect(dead).toContain('fate="taken over in 18 s"');
    expect(alive).not.toContain('fate');
    await clock.advance(18_000);
    await workers().beat('alive', HEALTHY);
    expect((await stdoutOf(line, 'outbox:workers'))[0]).toContain('fate="about to be taken over"');
  });

  it('says which worker is lost', async () => {
    await register('dead');
    await register('alive');
    const [sighting] = (await workers().beat('alive', HEALTHY)) ?? [];
    await workers().declareLost('dead', sighting?.lastSeen ?? '');
    expect((await stdoutOf(line, 'outbox:workers'))[0]).toMatch(/ fate="lost"$/);
  });

  it('lists the destinations that each finds away, as of now and with secrets masked', async () => {
    const outage = {
      destination: 'mail',
      sinceMs: 40_000,
      nextTryInMs: 8_000,
      error: 'amqp://me:hunter2@mq',
    };
    await register('a', { outages: [outage] });
    await clock.advance(5_000);
    expect((await stdoutOf(line, 'outbox:workers'))[1]).toBe(
      'outage worker=a destination=mail since="45 s ago" nextTry="in 3 s" error="amqp://***@mq"',
    );
    expect(await stdoutOf(terminal, 'outbox:workers')).toEqual([
      'ID  HOST     PID  VERSION  STARTED  LAST SEEN  ROWS  STATE',
      'a   a.local  17   1.2.0    5 s ago  5 s ago    0     listening',
      '',
      'AWAY  WORKER  SINCE     NEXT TRY  ERROR',
      'mail  a       45 s ago  in 3 s    amqp://***@mq',
    ]);
  });

  it('prints times as ages in milliseconds with --json', async () => {
    await register('a', { rowsInFlight: 2 });
    await clock.advance(12_000);
    await register('b');
    const [a, b] = JSON.parse((await stdoutOf(line, 'outbox:workers', '--json')).join());
    expect(a).toEqual({
      id: 'a',
      host: 'a.local',
      pid: 17,
      version: '1.2.0',
      takeoverMs: 30_000,
      startedAgeMs: 12_000,
      lastSeenAgeMs: 12_000,
      takenOverInMs: 18_000,
      isLost: false,
      rowsInFlight: 2,
      isListening: true,
      outages: [],
    });
    expect(b).not.toHaveProperty('takenOverInMs');
  });

  it('says so on a terminal if there are none', async () => {
    expect(await stdoutOf(terminal, 'outbox:workers')).toEqual(['no workers']);
  });
});

describe('outbox:pause and outbox:resume', () => {
  it('pause and resume a topic, and say whether that changed anything', async () => {
    expect(await stdoutOf(line, 'outbox:pause', 'order.paid')).toEqual([
      'outbox:pause topic=order.paid paused',
    ]);
    expect(await stdoutOf(line, 'outbox:pause', 'order.paid')).toEqual([
      'outbox:pause topic=order.paid already-paused',
    ]);
    expect(await line.app.get(OutboxPauses).list()).toMatchObject([{ topic: 'order.paid' }]);
    expect(await stdoutOf(line, 'outbox:resume', 'order.paid', '--json')).toEqual([
      '{"topic":"order.paid","result":"resumed"}',
    ]);
    expect(await stdoutOf(line, 'outbox:resume', 'order.paid')).toEqual([
      'outbox:resume topic=order.paid not-paused',
    ]);
    expect(await line.app.get(OutboxPauses).list()).toEqual([]);
  });

  it('keep outbox:dispatch from publishing it, which says so', async () => {
    await stdoutOf(line, 'outbox:pause', 'order.paid');
    await line.store.enqueue(['order.paid', 'order.sent'].map((topic) => ({ topic, payload: 1 })));
    expect(await line.run('outbox:dispatch', '--loop')).toEqual({
      code: 0,
      stdout: 'outbox:dispatch fetched=1 dispatched=1 failed=0 dead=0\n',
      stderr: "outbox:dispatch: left out, because they are paused: 'order.paid'\n",
    });
  });

  it('list the paused topics without one', async () => {
    expect(await stdoutOf(terminal, 'outbox:pause')).toEqual(['no topic is paused']);
    await stdoutOf(line, 'outbox:pause', 'b');
    await clock.advance(180_000);
    await stdoutOf(line, 'outbox:pause', 'a');
    expect(await stdoutOf(line, 'outbox:pause')).toEqual([
      'a paused since="0 s ago"',
      'b paused since="3 min ago"',
    ]);
    expect(await stdoutOf(terminal, 'outbox:pause')).toEqual([
      'TOPIC  PAUSED',
      'a      0 s ago',
      'b      3 min ago',
    ]);
    expect(await stdoutOf(line, 'outbox:pause', '--json')).toEqual([
      '[{"topic":"a","sinceMs":0},{"topic":"b","sinceMs":180000}]',
    ]);
  });
});

describe('outbox:stats and outbox:doctor', () => {
  const outage = { destination: 'mail', sinceMs: 40_000, nextTryInMs: 8_000, error: 'amqp://me:hunter2@mq' };
  const SILENT =
    '100 rows are held by a worker last seen 12 s ago, taken over in 18 s (process 17 on dead.local)';
  const AWAY =
    "destination 'mail' has been away for 40 s, next try in 8 s: amqp://***@mq (found by 2 workers)";
  const PAUSED = "topic 'order.paid' has been paused for 12 s, 2 rows pending";
  const COUNTS = 'outbox:stats pending=3 dispatched=0 dead=0 total=3';

  async function trouble(): Promise<void> {
    await register('dead', { rowsInFlight: 100 });
    await line.app.get(OutboxPauses).pause('order.paid');
    const topics = ['order.paid', 'order.paid', 'order.sent'];
    await line.app.get(OutboxStore).enqueue(topics.map((topic) => ({ topic, payload: 1 })));
    await clock.advance(12_000);
    await register('alive', { outages: [{ ...outage, sinceMs: 10_000, nextTryInMs: 1_000 }] });
    await register('other', { outages: [outage], isListening: false });
  }

  it('say who holds rows and went silent, what is away and what is paused', async () => {
    await trouble();
    const notes = [SILENT, AWAY, PAUSED];
    expect(await stdoutOf(line, 'outbox:stats')).toEqual([
      COUNTS,
      ...notes.map((note) => `note=${JSON.stringify(note)}`),
    ]);
    expect((await stdoutOf(terminal, 'outbox:stats')).slice(2)).toEqual(notes);
    expect(await stdoutOf(terminal, 'outbox:doctor')).toEqual([
      '3 pending, the oldest due for 12 s',
      ...notes,
      '1 of 2 workers polls: rows that other processes enqueue wait for the next poll',
      'no problems found',
    ]);
  });

  it('say it in JSON, with ages in milliseconds', async () => {
    await trouble();
    const expected = {
      pending: 3,
      silentWorkers: [
        {
          id: 'dead',
          host: 'dead.local',
          pid: 17,
          lastSeenAgeMs: 12_000,
          takenOverInMs: 18_000,
          isLost: false,
          rowsInFlight: 100,
        },
      ],
      outages: [{ ...outage, error: 'amqp://***@mq', workers: 2 }],
      paused: [{ topic: 'order.paid', sinceMs: 12_000, pending: 2 }],
    };
    expect(JSON.parse((await stdoutOf(line, 'outbox:stats', '--json')).join())).toMatchObject(expected);
    expect(JSON.parse((await stdoutOf(line, 'outbox:doctor', '--json')).join())).toMatchObject({
      ...expected,
      workers: { listening: 1, polling: 1 },
    });
  });

  it('do not call a worker silent that missed less than two heartbeats', async () => {
    await register('a', { rowsInFlight: 1 });
    await clock.advance(10_000);
    expect(await stdoutOf(line, 'outbox:stats')).toHaveLength(1);
    await clock.advance(1);
    expect((await stdoutOf(line, 'outbox:stats'))[1]).toMatch(
      /^note="1 row is held by a worker last seen 10 s ago/,
    );
  });

  it('count the rows of the first twenty paused topics only', async () => {
    const topics = Array.from({ length: 21 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    for (const topic of topics) await line.app.get(OutboxPauses).pause(topic);
    const { paused } = JSON.parse((await stdoutOf(line, 'outbox:stats', '--json')).join());
    expect(paused).toHaveLength(21);
    expect(paused.filter((one: object) => 'pending' in one)).toHaveLength(20);
  });
});

describe('outbox:list', () => {
  const claim = async (token?: string): Promise<void> => {
    const { store } = line;
    await store.enqueue({ id: token?.slice(0, 4) ?? 'cron', topic: 'a', payload: 1 });
    await store.fetchPending(1, token === undefined ? {} : { token });
  };
  const TIMES = 'claimedAt=2026-01-01T00:00:00.000Z claimedUntil=2026-01-01T00:05:00.000Z';

  it('says who holds a row, since when and until when', async () => {
    await register('here');
    await claim(workerToken('here', 1));
    await claim(workerToken('gone', 1));
    await claim();
    const lines = await stdoutOf(line, 'outbox:list');
    const holders = lines.map((text) => text.replace(/ state=.*Z claimedBy/, ' claimedBy')).sort();
    expect(holders).toEqual([
      `cron claimedBy=unregistered ${TIMES}`,
      `gone claimedBy=gone ${TIMES}`,
      `here claimedBy=here host=here.local pid=17 ${TIMES}`,
    ]);
    const rows = JSON.parse((await stdoutOf(line, 'outbox:list', '--json')).join());
    const times = { claimedAt: '2026-01-01T00:00:00.000Z', claimedUntil: '2026-01-01T00:05:00.000Z' };
    expect(Object.fromEntries(rows.map((row: { id: string; claim: object }) => [row.id, row.claim]))).toEqual(
      {
        cron: { owner: 'unregistered', ...times },
        gone: { owner: 'gone', ...times },
        here: { owner: 'here', host: 'here.local', pid: 17, ...times },
      },
    );
    expect((await stdoutOf(terminal, 'outbox:list')).join('\n')).toMatch(/here .* here\.local:17 .*00:05:00/);
  });

  it('says nothing of claims on rows that nobody holds', async () => {
    await register('here');
    await claim(workerToken('here', 1));
    const [row] = await line.store.peek({}, 1);
    await line.store.markDispatched(['here'], row?.claimToken);
    await line.store.enqueue({ id: 'free', topic: 'a', payload: 1 });
    expect((await stdoutOf(line, 'outbox:list')).join()).not.toContain('claimed');
    const rows = JSON.parse((await stdoutOf(line, 'outbox:list', '--json')).join());
    expect(rows.filter((listed: object) => 'claim' in listed)).toEqual([]);
    expect((await stdoutOf(terminal, 'outbox:list'))[0]).not.toContain('CLAIMED');
  });
});
