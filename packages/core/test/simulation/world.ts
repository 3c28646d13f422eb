import { MemoryOutboxStore, MemoryTable } from '@postcommit/store-memory';
import { ClaimLedger } from './claim-ledger.js';
import { History } from './history.js';
import { Host } from './host.js';
import type { Mutant } from './mutant.js';
import { PaceLedger } from './pace-ledger.js';
import { RowLedger } from './row-ledger.js';
import { drawWeather, type Weather } from './settings.js';
import { SignalLedger } from './signal-ledger.js';
import { SimClock } from './sim-clock.js';
import type { CauseOfDeath, SimProcess } from './sim-process.js';
import { SimRandom } from './sim-random.js';
import { StopLedger } from './stop-ledger.js';

/** One table on one clock, the processes that work on it, and the ledgers of what really happens. */
export class World {
  readonly clock = new SimClock();
  readonly random: SimRandom;
  /** For what operators order of topics: the same seeds show the same faults with it and without. */
  readonly people: SimRandom;
  readonly weather: Weather;
  /** Whether workers know each other. */
  readonly isRegistered: boolean;
  readonly history: History;
  readonly table = new MemoryTable(this.clock);
  readonly rows: RowLedger;
  readonly claims: ClaimLedger;
  readonly events: SignalLedger;
  readonly stops: StopLedger;
  readonly pace: PaceLedger;
  readonly hosts: readonly Host[];
  readonly mutant: Mutant | undefined;
  /** For producers, operators and those who look: a store without faults. */
  readonly store: MemoryOutboxStore;
  /** When much comes together: rows in bursts, and what happens to those who work on them. */
  readonly #rushes: readonly [number, ...number[]];
  #isBad = true;
  #outages = 0;
  readonly #waiting: Array<() => void> = [];

  constructor(seed: number, mutant: Mutant | undefined, isTraced: boolean) {
    this.random = new SimRandom(seed);
    this.people = new SimRandom(seed + 1_000_000);
    this.mutant = mutant;
    this.isRegistered = this.random.chance(0.35);
    this.weather = drawWeather(this.random, this.people, this.isRegistered);
    const rush = (): number => this.random.between(0, 0.7 * this.weather.badTimesMs);
    this.#rushes = [rush(), rush(), rush()];
    this.history = new History(this.clock, isTraced);
    this.rows = new RowLedger(this.history);
    this.claims = new ClaimLedger(this.history, this.rows, this.clock, this.table);
    this.events = new SignalLedger(this.history, this.claims);
    this.pace = new PaceLedger(this.history, this.clock);
    this.stops = new StopLedger(this.history, this.claims, this.clock);
    this.store = new MemoryOutboxStore({ table: this.table, random: this.random.next });
    this.history.note('world', 'weather', () => JSON.stringify(this.weather));
    this.hosts = Array.from(
      { length: this.random.whole(1, 3) },
      (_, place) => new Host(this, `p${place + 1}`),
    );
  }

  /** A moment in the bad times: any, or within `spreadMs` of a rush. */
  someMoment(spreadMs: number): number {
    if (this.random.chance(0.3)) return this.random.between(0, 0.8 * this.weather.badTimesMs);
    return this.random.pick(this.#rushes) + this.random.between(0, spreadMs);
  }

  /** Whether calls may fail. */
  get isBad(): boolean {
    return this.#isBad;
  }

  /** Whether the broker refuses everything; never in good times. */
  get isBrokerAway(): boolean {
    return this.#isBad && this.#outages > 0;
  }

  /** Outages may overlap. */
  brokerGoesAway(forMs: number): void {
    this.#outages += 1;
    this.history.note('broker', 'goes away');
    this.clock.schedule(forMs, () => {
      this.#outages -= 1;
      this.history.note('broker', 'comes back');
    });
  }

  /** Calls back when the bad times are over, at once if they are. */
  whenGoodTimesCome(callback: () => void): void {
    if (this.#isBad) this.#waiting.push(callback);
    else this.clock.schedule(0, callback);
  }

  goodTimesCome(): void {
    this.#isBad = false;
    this.history.note('world', 'good times');
    for (const { process } of this.hosts) process.thaw();
    for (const callback of this.#waiting.splice(0)) this.clock.schedule(this.random.between(0, 50), callback);
  }

  kill(process: SimProcess, cause: CauseOfDeath): void {
    if (process.isDead) return;
    this.history.note(process.name, cause.kind === 'killed' ? 'dies' : 'dies of poison', () =>
      cause.kind === 'killed' ? '' : cause.id,
    );
    process.die(cause);
    this.hosts.find((host) => host.process === process)?.comeBack();
  }
}
