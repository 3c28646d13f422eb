import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';

/** A temporary folder for the servers of one test: what they leave, they leave here. */
export async function ownTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pc-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o777);
  return folder;
}

/** Every process that names the folder in its command line (watchdog, postmaster) or works in it (backends). */
export function processesIn(folder: string): string[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) =>
      [attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')), workingFolder(pid)].join('\0'),
    )
    .filter((description) => description.includes(folder));
}

/** There is no event for the end of somebody else's process: looks again until it is so, 20 s at most. */
export async function expectNothingLeft(folder: string): Promise<void> {
  await expect
    .poll(() => [...processesIn(folder), ...readdirSync(folder)], { timeout: 20_000, interval: 20 })
    .toEqual([]);
}

function workingFolder(pid: string): string {
  return attempt(() => readlinkSync(`/proc/${pid}/cwd`));
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return ''; // the process ended while we looked
  }
}
