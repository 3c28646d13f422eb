import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const pollIntervalMs = 200;

/**
 * Runs `work` while no other process of this machine does so for the same folder.
 *
 * The folder holds one file, named after its owner; empty or missing means free. It is taken by renaming a
 * filled folder onto it, which is one atomic step and fails while a file is in it. A dead owner's file is
 * removed by its exact name: of two who see it, the slower one cannot remove what the quicker one put there.
 */
export async function withLock(folder, signal, work) {
  const owner = `${process.pid}-${randomUUID()}`;
  await acquire(folder, owner, signal);
  try {
    return await work();
  } finally {
    await unlink(join(folder, owner));
  }
}

async function acquire(folder, owner, signal) {
  const offer = `${folder}-offer-${owner}`;
  await mkdir(offer, { recursive: true });
  try {
    await writeFile(join(offer, owner), '');
    let isAnnounced = false;
    while (!(await isTaken(folder, offer))) {
      const holder = await liveHolder(folder);
      if (holder !== undefined && !isAnnounced) {
        process.stderr.write(
          `Waiting for process ${holder}, which prepares this checkout (lock: ${folder}).\n`,
        );
        isAnnounced = true;
      }
      await sleep(holder === undefined ? 0 : pollIntervalMs, undefined, { signal });
    }
  } finally {
    await rm(offer, { recursive: true, force: true });
  }
}

async function isTaken(folder, offer) {
  try {
    await rename(offer, folder);
    return true;
  } catch (error) {
    if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return false;
    throw error;
  }
}

/** The pid of the owner, after a dead one's file was removed. */
async function liveHolder(folder) {
  const [owner] = await readdir(folder);
  if (owner === undefined) return undefined;
  const pid = Number.parseInt(owner, 10);
  if (isAlive(pid)) return pid;
  await rm(join(folder, owner), { force: true });
  return undefined;
}

function isAlive(pid) {
  // In a container every start gets the same few pids: our own number in the file is a dead namesake's.
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
