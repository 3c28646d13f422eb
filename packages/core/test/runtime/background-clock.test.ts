import { expect, it } from 'vitest';
import { backgroundClock } from '../../src/runtime/timing.js';

it('its timers fire, and do not keep the process alive', async () => {
  const holding = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = holding();
  const ran = new Promise<void>((resolve) => {
    backgroundClock.schedule(0, resolve);
  });
  expect(holding()).toBe(before);
  // Something else has to keep it alive meanwhile: vitest does.
  await ran;
});

it('its timers can be cancelled', async () => {
  let isCancelledOneRun = false;
  const cancel = backgroundClock.schedule(0, () => {
    isCancelledOneRun = true;
  });
  cancel();
  await new Promise<void>((resolve) => {
    backgroundClock.schedule(1, resolve);
  });
  expect(isCancelledOneRun).toBe(false);
});
