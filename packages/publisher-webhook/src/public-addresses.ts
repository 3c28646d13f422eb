import { BlockList, isIP } from 'node:net';

/** Not on the public internet, from the registries of special-purpose addresses (RFC 6890), and cloud metadata. */
const PRIVATE_IPV4 = [
  '0.0.0.0/8', // this host
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; Alibaba's metadata is in it
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's host, although it looks public
  '169.254.0.0/16', // link-local; most clouds' metadata is in it
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments; Oracle's metadata is in it
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
];

/** Only 2000::/3 is public at all. Loopback, link-local, unique local and multicast addresses are outside of it. */
const PUBLIC_IPV6 = ['2000::/3'];
const PRIVATE_IPV6 = [
  '2001::/23', // protocol assignments, and Teredo, which embeds IPv4 addresses
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which embeds IPv4 addresses
  '3fff::/20', // documentation
];

/** IPv4 addresses written as IPv6, and through NAT64. They are as public as the IPv4 address in them. */
const EMBEDDING = ['::ffff:', '64:ff9b::'];
const EMBEDDED_IPV4 = EMBEDDING.map((prefix) => `${prefix}0.0.0.0/96`);
const EMBEDDED_PRIVATE = EMBEDDING.flatMap((prefix) =>
  PRIVATE_IPV4.map((range) => {
    const [address, bits] = partsOf(range);
    return `${prefix}${address}/${96 + bits}`;
  }),
);

const PUBLIC = blockListOf([...PUBLIC_IPV6, ...EMBEDDED_IPV4]);
const PRIVATE = blockListOf([...PRIVATE_IPV4, ...PRIVATE_IPV6, ...EMBEDDED_PRIVATE]);

/** Whether an IP address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = familyOf(address);
  if (!family || isIn(PRIVATE, address)) return false;
  return family === 'ipv4' || isIn(PUBLIC, address);
}

/** Builds a list of addresses and ranges, such as `10.1.0.0/16`. Throws for anything else. */
export function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address, bits] = partsOf(range);
    list.addSubnet(address, bits, familyOf(address) ?? 'ipv4');
  }
  return list;
}

export function isIn(list: BlockList, address: string): boolean {
  const family = familyOf(address);
  // The zone of a link-local address says by which interface it is reached.
  const [plain = address] = address.split('%');
  return family !== undefined && list.check(plain, family);
}

/** Undefined for a name. */
export function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const family = isIP(address);
  if (family === 0) return undefined;
  return family === 4 ? 'ipv4' : 'ipv6';
}

function partsOf(range: string): [address: string, bits: number] {
  const [address = '', bits] = range.split('/');
  return [address, bits === undefined ? wholeAddress(address) : Number(bits)];
}

function wholeAddress(address: string): number {
  return isIP(address) === 6 ? 128 : 32;
}
