const names = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs `work` with a signal that aborts when this process is interrupted; the reason is the name of the interrupt. After
 * `work` has cleaned up, the process dies of the same signal, which tells a calling shell that it was interrupted.
 */
export async function interruptible(work) {
  const interruption = new AbortController();
  const onSignal = (name) => interruption.abort(name);
  for (const name of names) process.on(name, onSignal);
  try {
    return await work(interruption.signal);
  } finally {
    for (const name of names) process.off(name, onSignal);
    if (interruption.signal.aborted) process.kill(process.pid, interruption.signal.reason);
  }
}
