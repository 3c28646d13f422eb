const RealDate = Date;
let shiftMs = 0;

/** A host whose clock is wrong: `Date` and `Date.now` return another time. Timers and `performance.now` are not affected. */
class WrongDate extends RealDate {
  constructor(...args: readonly [] | ConstructorParameters<typeof RealDate>) {
    super(...((args.length === 0 ? [RealDate.now() + shiftMs] : args) as [number]));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

export function shiftClock(ms: number): void {
  shiftMs = ms;
  globalThis.Date = (ms === 0 ? RealDate : WrongDate) as DateConstructor;
}
