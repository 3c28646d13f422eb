import { readFileSync, realpathSync, statSync } from 'node:fs';
import { lchown, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Whom PostgreSQL runs as: it refuses root, so root hands it to `nobody`. Undefined: as we are. */
export function serverAccount(): Account | undefined {
  return process.getuid?.() === 0 ? nobody() : undefined;
}

export function nobody(passwd = readFileSync('/etc/passwd', 'utf8')): Account {
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === 'nobody');
  if (fields === undefined) {
    throw new Error('PostgreSQL refuses to run as root, and /etc/passwd has no "nobody" to run it as.');
  }
  return { uid: Number(fields[2]), gid: Number(fields[3]) };
}

/** By the modes of the path and of every folder above it: no process is started to find out. */
export function canReach(account: Account, path: string): boolean {
  const real = realpathSync(path);
  if (!isAllowed(account, real, READ | ENTER)) return false;
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if (!isAllowed(account, folder, ENTER)) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** Changes the owner of a folder and of all in it; links are changed themselves, not followed. */
export async function giveTo(account: Account, folder: string): Promise<void> {
  await lchown(folder, account.uid, account.gid);
  for (const entry of await readdir(folder, { recursive: true })) {
    await lchown(join(folder, entry), account.uid, account.gid);
  }
}

const READ = 4;
const ENTER = 1;

function isAllowed(account: Account, path: string, wanted: number): boolean {
  const { uid, gid, mode } = statSync(path);
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & wanted) === wanted;
}
