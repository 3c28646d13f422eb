const works = new Set<() => Promise<unknown>>();
let isInterrupted = false;

/** Something to clean up, also when the run is interrupted. Last in, first out. Gives a way to forget it. */
export function atEnd(work: () => Promise<unknown>): () => void {
  works.add(work);
  return () => works.delete(work);
}

/** Does all that is left to do; what fails does not stop the rest. */
export async function end(): Promise<void> {
  for (const work of [...works].reverse()) {
    works.delete(work);
    await work().catch((error: unknown) => process.stderr.write(`cleaning up: ${String(error)}\n`));
  }
}

/** On Ctrl+C: consumers, queues and the server are gone before this process is. */
export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      isInterrupted = true;
      process.stderr.write(`\n${signal}: cleaning up\n`);
      void end().then(() => process.kill(process.pid, signal));
    });
  }
}

/** Whether a signal came: what fails from then on fails because of it. */
export function isEnding(): boolean {
  return isInterrupted;
}
