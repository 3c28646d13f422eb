/**
 * What differs between a manifest in the workspace and the published one. The lockfile has the checksum of this file:
 * after a change, run `node scripts/run.mjs pnpm install --no-frozen-lockfile`.
 */
function beforePacking({ devDependencies: _, ...manifest }) {
  const peers = Object.entries(manifest.peerDependencies ?? {}).map(([name, range]) => [
    name,
    // In the workspace the range is wide: changesets counts a peer that leaves its range as a breaking change.
    name.startsWith('@postcommit/') ? `^${manifest.version}` : range,
  ]);
  return { ...manifest, ...(peers.length > 0 && { peerDependencies: Object.fromEntries(peers) }) };
}

module.exports = { hooks: { beforePacking } };
