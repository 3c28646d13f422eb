/** Copies `repository`, `homepage` and `bugs` from the root's package.json into every package's. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './checkout.mjs';

const read = async (path) => JSON.parse(await readFile(path, 'utf8'));
const { repository, homepage, bugs } = await read(join(root, 'package.json'));

for (const folder of await readdir(join(root, 'packages'))) {
  const path = join(root, 'packages', folder, 'package.json');
  const manifest = await read(path).catch(() => undefined);
  if (!manifest) continue;
  const { name, version, description, keywords, ...rest } = manifest;
  for (const field of ['repository', 'homepage', 'bugs']) delete rest[field];
  const synced = {
    name,
    version,
    description,
    keywords,
    repository: { ...repository, directory: `packages/${folder}` },
    homepage: `${homepage}/tree/main/packages/${folder}#readme`,
    bugs,
    ...rest,
  };
  await writeFile(path, `${JSON.stringify(synced, null, 2)}\n`);
}
