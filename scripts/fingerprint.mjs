import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root } from './checkout.mjs';

/** Files below a folder in a stable order, without those entries; none if there is no such folder. */
export async function filesBelow(folder, skipped) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (skipped.has(entry.name)) continue;
    if (entry.isDirectory()) found.push(...(await filesBelow(path, skipped)));
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

/** Changes with any file's path or content. A missing file counts as one: appearing is a change too. */
export async function fingerprint(files, ...facts) {
  const hash = createHash('sha256').update(JSON.stringify(facts));
  for (const file of files) {
    const content = await readFile(file).catch(() => undefined);
    hash.update(JSON.stringify([relative(root, file), content?.length ?? 'missing']));
    if (content) hash.update(content);
  }
  return hash.digest('hex');
}
