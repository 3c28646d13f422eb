/** What we call of TypeORM's driver for sql.js. */
export interface SavingDriver {
  readonly options?: { readonly autoSave?: boolean };
  autoSave?(): Promise<void>;
}

/** Saves that run, by their driver: several executors may share one. */
const saves = new WeakMap<SavingDriver, Promise<void>>();

/**
 * Writes the whole database, as TypeORM does after a commit of its own. Call it in the same breath as the commit: with
 * a transaction open it would do nothing.
 */
export function save(driver: SavingDriver): Promise<void> {
  const running = (driver.autoSave?.() ?? Promise.resolve()).finally(() => saves.delete(driver));
  saves.set(driver, running);
  return running;
}

/** Two saves at once would write into one file. Who waits for another one's does not care whether it went well. */
export function runningSave(driver: SavingDriver): Promise<void> | undefined {
  return saves.get(driver)?.catch(() => {});
}
