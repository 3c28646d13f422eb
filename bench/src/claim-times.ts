import { BATCH_SIZE, type OpenSubject } from './subject.js';

/** How many claims make up a figure. */
export const SAMPLES = 10;

/** Of so many full claims, each settled before the next, how long each took. */
export async function claimTimes(open: OpenSubject, claims: number): Promise<number[]> {
  const times: number[] = [];
  for (let claim = 0; claim < claims; claim++) {
    const taken = await open.claim?.();
    if (taken?.rows !== BATCH_SIZE) throw new Error(`claimed ${taken?.rows} rows instead of ${BATCH_SIZE}`);
    times.push(taken.ms);
  }
  return times;
}
