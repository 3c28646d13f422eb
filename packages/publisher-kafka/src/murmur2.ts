const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;
const WITHOUT_SIGN = 0x7fffffff;

/**
 * The hash of a key, by which Java's client chooses the partition. The client has one too, `compatibilityPartitioner`,
 * but calculates with BigInt: it takes a hundred times as long, which is more than all the rest of a publish.
 */
export function murmur2(key: Uint8Array): number {
  const view = new DataView(key.buffer, key.byteOffset, key.length);
  const tail = key.length % 4;
  const words = key.length - tail;
  let hash = SEED ^ key.length;
  for (let at = 0; at < words; at += 4) {
    const word = Math.imul(view.getInt32(at, true), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word ^ (word >>> 24), MULTIPLIER);
  }
  for (let byte = tail - 1; byte >= 0; byte--) hash ^= view.getUint8(words + byte) << (8 * byte);
  if (tail > 0) hash = Math.imul(hash, MULTIPLIER);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return (hash ^ (hash >>> 15)) & WITHOUT_SIGN;
}
