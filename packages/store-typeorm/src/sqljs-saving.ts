/** The part of TypeORM's sql.js driver that saves the database. */
export interface SavingDriver {
  readonly options?: { readonly autoSave?: boolean };
  autoSave?(): Promise<void>;
}

/** Saves in progress, by driver: several executors may share one. */
const saves = new WeakMap<SavingDriver, Promise<void>>();

/**
 * Writes the whole database, as TypeORM does after its own commits. Call it synchronously after the commit: while a
 * transaction is open, it does nothing.
 */
export function save(driver: SavingDriver): Promise<void> {
  const running = (driver.autoSave?.() ?? Promise.resolve()).finally(() => saves.delete(driver));
  saves.set(driver, running);
  return running;
}

/** Resolves when the save in progress ends, even if it fails: two at once would write to the same file. */
export function runningSave(driver: SavingDriver): Promise<void> | undefined {
  return saves.get(driver)?.catch(() => {});
}
