import type { OutboxEntry } from '../../src/message/outbox-row.js';
import type { RowKind } from './row-ledger.js';
import type { World } from './world.js';

const KEYS = ['a', 'a', 'b', 'c', undefined, undefined, undefined] as const;

/** Enqueues in transactions that overlap, and that commit or roll back after a while. */
export function startProducers(world: World): void {
  const { random, weather, clock } = world;
  const transactions = random.whole(3, 14);
  let lastId = 0;
  const poisoned = new Set(Array.from({ length: weather.poison }, () => random.whole(1, transactions)));
  for (let count = 1; count <= transactions; count++) {
    const size = random.whole(1, 4);
    const kinds = Array.from({ length: size }, (_, place): RowKind => {
      if (poisoned.has(count) && place === size - 1) return 'poison';
      return random.chance(0.04) ? 'misfit' : 'plain';
    });
    clock.schedule(world.someMoment(50), () => {
      void produce(
        world,
        kinds.map((kind) => [`r${++lastId}`, kind]),
      );
    });
  }
}

async function produce(world: World, wanted: ReadonlyArray<[id: string, kind: RowKind]>): Promise<void> {
  const { random, rows, store, clock, history, hosts } = world;
  const ids = wanted.map(([id]) => id);
  const entries = wanted.map(([id, kind]) => entryOf(world, id, kind));
  for (const [place, [id, kind]] of wanted.entries()) rows.enqueueBegan(id, entries[place]?.key, kind);
  const tx = store.begin();
  await store.enqueueWith(tx, entries);
  history.note('producer', 'enqueues', () =>
    entries.map(({ id, key }) => `${id}${key ? `(${key})` : ''}`).join(' '),
  );
  if (random.chance(0.5)) random.pick([hosts[0] ?? undefined, ...hosts])?.hint();
  const commits = random.chance(0.85);
  clock.schedule(random.chance(0.5) ? 0 : random.between(0, 2_000), () => {
    history.note('producer', commits ? 'commits' : 'rolls back', () => ids.join(' '));
    if (commits) tx.commit();
    else tx.rollback();
    for (const id of ids) {
      if (commits) rows.committed(id);
      else rows.rolledBack(id);
    }
  });
}

function entryOf({ random, clock }: World, id: string, kind: RowKind): OutboxEntry {
  const key = random.pick(KEYS);
  const isChecked = kind === 'misfit' || random.chance(0.3);
  return {
    id,
    topic: isChecked ? 'checked' : 'plain',
    payload: kind,
    ...(key && { key }),
    ...(random.chance(0.15) && { availableAt: new Date(clock.now() + random.between(0, 4_000)) }),
    ...(random.chance(0.2) && {
      retry: { maxAttempts: random.whole(1, 5), backoff: { type: 'fixed', delayMs: random.whole(0, 500) } },
    }),
  };
}

/** Operators requeue, cancel and discard, whatever is going on. */
export function startOperators(world: World): void {
  const { weather, clock } = world;
  for (let count = 0; count < weather.operations; count++)
    clock.schedule(world.someMoment(500), () => void operate(world));
}

async function operate({ random, rows, claims, store, table, history }: World): Promise<void> {
  const ids = [...table.rows()].map(({ id }) => id);
  const [first, ...others] = ids;
  if (first === undefined) return;
  const id = random.pick([first, ...others]);
  switch (random.pick(['requeue', 'requeue', 'cancel', 'discard', 'requeue dead ones'])) {
    case 'requeue':
      history.note('operator', 'requeues', () => id);
      await store.requeue(id);
      claims.voided(id);
      rows.requeued(id);
      break;
    case 'cancel':
      if (!(await store.cancel(id))) break;
      history.note('operator', 'cancels', () => id);
      claims.voided(id);
      rows.cancelled(id);
      break;
    case 'discard': {
      const dead = ids.filter((candidate) => table.get(candidate)?.deadAt !== undefined).slice(0, 2);
      history.note('operator', 'discards', () => dead.join(' '));
      await store.discard(dead);
      for (const gone of dead) rows.discarded(gone);
      break;
    }
    case 'requeue dead ones': {
      const dead = ids.filter((candidate) => {
        const row = table.get(candidate);
        return row?.deadAt !== undefined && row.deadReason !== 'cancelled';
      });
      history.note('operator', 'requeues dead ones', () => dead.join(' '));
      if ((await store.requeueWhere({ state: 'dead' }, 100)) !== dead.length)
        history.violated('I12', 'requeueWhere did not tell how many rows it requeued');
      // Oldest first: their new order is their old one.
      const bySeq = dead.sort((a, b) => (table.get(a)?.seq ?? 0) - (table.get(b)?.seq ?? 0));
      for (const back of bySeq) {
        claims.voided(back);
        rows.requeued(back);
      }
    }
  }
}

/** Operators pause topics, and resume them at the latest when good times come. */
export function startPauses(world: World): void {
  const { people, weather, clock, table, pace, history } = world;
  for (let count = 0; count < weather.pauses; count++) {
    const topic = people.pick(['plain', 'plain', 'checked']);
    const atMs = people.between(0, 0.8 * weather.badTimesMs);
    const forMs = people.between(500, 0.7 * weather.badTimesMs);
    const resume = (): void => {
      if (!table.pauses.delete(topic)) return;
      history.note('operator', 'resumes', () => topic);
      pace.resumed(topic);
    };
    clock.schedule(atMs, () => {
      history.note('operator', 'pauses', () => topic);
      table.pauses.set(topic, table.now());
      pace.paused(topic);
      clock.schedule(forMs, resume);
      world.whenGoodTimesCome(resume);
    });
  }
}

/** Kills, freezes and stops processes, and takes the broker away. */
export function startTrouble(world: World): void {
  const { random, weather, clock, hosts } = world;
  const sometime = (times: number, act: (host: (typeof hosts)[number]) => void): void => {
    for (let count = 0; count < times; count++)
      clock.schedule(world.someMoment(500), () => {
        const [first, ...others] = hosts;
        if (first) act(random.pick([first, ...others]));
      });
  };
  for (let count = 0; count < weather.outages; count++)
    clock.schedule(world.someMoment(500), () => world.brokerGoesAway(random.between(100, 6_000)));
  sometime(weather.kills, ({ process }) => world.kill(process, { kind: 'killed' }));
  sometime(weather.freezes, ({ process, settings }) => {
    if (process.isDead) return;
    world.history.note(process.name, 'freezes');
    process.freeze();
    clock.schedule(random.between(0.1, 2) * settings.claimTimeoutMs, () => {
      world.history.note(process.name, 'thaws');
      process.thaw();
    });
  });
  sometime(weather.stops, (host) => {
    const graceMs = random.pick([0, 50, 1_000, 10_000]);
    const after = random.pick(['restart', 'replace'] as const);
    host.process.deliver(() => void host.stop(graceMs, after));
  });
}
