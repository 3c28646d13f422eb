import type { Cells, Trial } from './case.js';
import type { OpenSubject, Place, Subject } from './subject.js';

/** A database that takes minutes to fill: filled once, and kept for all rounds, each of which receives its number. */
export function inKeptPlace(
  subject: Subject,
  fill: (open: OpenSubject) => Promise<void> | undefined,
  run: (place: Place, round: number, note: (text: string) => void) => Promise<Cells>,
): Required<Pick<Trial, 'prepare' | 'run'>> {
  let rounds = 0;
  return {
    prepare: async (place) => {
      await subject.prepare(place);
      const open = await subject.open(place);
      await fill(open);
      await open.close();
    },
    run: (place, note) => {
      rounds += 1;
      return run(place, rounds - 1, note);
    },
  };
}
