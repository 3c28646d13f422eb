/** For `absent`: words where this Node is older than a library needs. */
export function needsNode(major: number, minor: number): () => Promise<string | undefined> {
  const [ownMajor = 0, ownMinor = 0] = process.versions.node.split('.').map(Number);
  const isOlder = ownMajor < major || (ownMajor === major && ownMinor < minor);
  return async () => (isOlder ? `not run: needs Node ${major}.${minor} or newer` : undefined);
}
