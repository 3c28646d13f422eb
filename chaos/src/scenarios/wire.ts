import { LONG_CLAIM_MS } from '../arena.js';
import type { Scenario } from '../scenario.js';
import type { Lost, StatementMatch } from '../wire-proxy.js';
import { KEYS, times, underLoad } from './under-load.js';

const group = 'the wire';
const DEFAULT_CLAIM_MS = 300_000;
/** What the documentation promises for connections that turn silent. */
const SILENCE_MS = 15_000;

const cut: Scenario = {
  group,
  name: 'every connection is cut, again and again',
  run: async (arena) => {
    const proxy = await arena.proxy();
    await arena.start({ databaseUrl: proxy.url });
    const producer = arena.producer('cut', arena.subject(proxy.url));
    const cutAll = async (): Promise<void> => proxy.cut();
    await underLoad(arena, 'cut', times(arena.isShort ? 3 : 10, cutAll), producer);
  },
};

const delayed: Scenario = {
  group,
  name: 'a slow network (50 ms each way)',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const proxy = await arena.proxy();
    proxy.delay(50);
    await arena.start({ databaseUrl: proxy.url, claimTimeoutMs: LONG_CLAIM_MS });
    await arena.start({ databaseUrl: proxy.url, claimTimeoutMs: LONG_CLAIM_MS });
    await arena.produce(60, KEYS);
    await arena.drained();
  },
};

/** Nothing is closed, nothing is answered: the process can't know. Another one takes over, and then it works again. */
const halfOpen: Scenario = {
  group,
  name: 'half-open connections',
  run: async (arena) => {
    const proxy = await arena.proxy();
    await arena.produce(20, KEYS);
    const victim = await arena.start({ databaseUrl: proxy.url, stopAt: 'after the publish, before the ack' });
    await victim.stopsAtPoint();
    const other = arena.launch();
    await arena.fault('half-open', victim, async () => {
      proxy.freeze();
      victim.send({ do: 'go on' });
      await arena.drained();
      proxy.thaw();
    });
    await other.terminate();
    await arena.produce(10, KEYS, 'later');
    await arena.drained();
  },
};

/** A claim that it waits for is given up, and the next ones take the pool: nobody has to thaw it. */
const listenerHalfOpen: Scenario = {
  group,
  name: 'a half-open listener connection beside a working pool',
  longOnly: true,
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const proxy = await arena.proxy();
    const worker = await arena.start({ listenUrl: proxy.url, claimTimeoutMs: LONG_CLAIM_MS });
    await arena.produce(10, KEYS);
    await arena.drained();
    await arena.fault('half-open', worker, async () => {
      proxy.freeze();
      await arena.produce(10, KEYS, 'meanwhile');
      arena.calm();
      await arena.drained();
      proxy.thaw();
    });
    await arena.produce(10, KEYS, 'later');
    await arena.drained();
  },
};

/** With the claim time-out that is the default: nothing may wait for it. */
const turnedSilent: Scenario = {
  group,
  name: 'open connections turn silent, new ones work',
  rules: { duplicates: 'none' },
  run: async (arena) => {
    const proxy = await arena.proxy();
    const worker = await arena.start({ databaseUrl: proxy.url, claimTimeoutMs: DEFAULT_CLAIM_MS });
    await arena.produce(10, KEYS);
    await arena.drained();
    await arena.fault('half-open', worker, async () => {
      proxy.freeze();
      proxy.thaw();
    });
    await arena.produce(10, KEYS, 'meanwhile');
    await arena.drained();
    const recoveryMs = Math.round(arena.recoveryMs ?? 0);
    arena.expect(recoveryMs <= SILENCE_MS, `I7: it took ${recoveryMs} ms to replace silent connections`);
    arena.expect(worker.heardTimes('trouble') > 0, 'I12: nobody was told that the store did not answer');
    arena.expect(worker.heardTimes('recovered') > 0, 'I12: nobody was told that it answers again');
  },
};

/** What the statements of a worker look like on the wire. */
const CLAIM = (text: string): boolean => /for update skip locked/.test(text) && /key is null/.test(text);
const ACK = (text: string): boolean => /set dispatched_at = /.test(text);
const COMMIT = (text: string): boolean => /^commit/i.test(text);
const COMMIT_OF_KEYS: StatementMatch = (text, before) => COMMIT(text) && /claimed_key = o\.key/.test(before);

/** No claim has to expire: the store releases what it may have claimed, and retries an ack. */
function cutAt(what: string, matches: StatementMatch, keys: typeof KEYS, lost: Lost): Scenario {
  return {
    group,
    name: `cut at ${what}, its ${lost} is lost`,
    rules: { duplicates: 'none' },
    run: async (arena) => {
      const proxy = await arena.proxy();
      await arena.produce(20, keys);
      const worker = arena.launch({ databaseUrl: proxy.url, claimTimeoutMs: LONG_CLAIM_MS });
      await arena.fault('cut', worker, () => proxy.cutAt(matches, lost));
      await worker.ready();
      await arena.drained();
      const retaken = await arena.ledger.query('select "rowId" from claims where retakes > 0');
      arena.expect(retaken.length === 0, `I7: ${retaken.length} claims had to expire`);
      // It ends after all its settles are answered, and has emitted all its events by then.
      await worker.terminate();
      const fenced = worker.heard('fenced').length;
      arena.expect(fenced === 0, `I12: ${fenced} rows were told to be fenced that nobody else had`);
    },
  };
}

function cutAtBusinessCommit(lost: Lost): Scenario {
  return {
    group,
    name: `cut at the business COMMIT, its ${lost} is lost`,
    rules: { duplicates: 'none' },
    run: async (arena) => {
      const proxy = await arena.proxy();
      await arena.start({ claimTimeoutMs: LONG_CLAIM_MS });
      const producer = arena.producer('unsure', arena.subject(proxy.url));
      const sprung = proxy.cutAt(COMMIT, lost);
      await arena.fault('cut', undefined, async () => {
        const result = await producer.produce({ id: 'unsure', key: 'k0' });
        await sprung;
        const expected = lost === 'answer' ? 'committed' : 'unknown';
        arena.expect(result === expected, `the producer found ${result}, not ${expected}`);
      });
      await arena.produce(10, KEYS);
      await arena.drained();
    },
  };
}

function both(make: (lost: Lost) => Scenario): Scenario[] {
  return [make('answer'), { ...make('request'), longOnly: true }];
}

export const wireScenarios: readonly Scenario[] = [
  cut,
  delayed,
  halfOpen,
  listenerHalfOpen,
  turnedSilent,
  ...both(cutAtBusinessCommit),
  ...both((lost) => cutAt('the claim', CLAIM, [undefined], lost)),
  ...both((lost) => cutAt('the COMMIT of a claim of keys', COMMIT_OF_KEYS, ['k0', 'k1'], lost)),
  ...both((lost) => cutAt('the ack', ACK, KEYS, lost)),
];
