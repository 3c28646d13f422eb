import { readFile } from 'node:fs/promises';

/** The version of a package in the workspace. */
export async function catalogVersion(name: string): Promise<string> {
  const workspace = await readFile(new URL('../../pnpm-workspace.yaml', import.meta.url), 'utf8');
  const [, version] = new RegExp(`^ {2}"?${name}"?: (\\S+)$`, 'm').exec(workspace) ?? [];
  if (!version) throw new Error(`${name} is not in the catalog of pnpm-workspace.yaml`);
  return version;
}
