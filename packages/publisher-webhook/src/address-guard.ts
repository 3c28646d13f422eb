import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import type { BlockList, LookupFunction } from 'node:net';
import { OutboxError, PermanentError, TransientError } from '@postcommit/core';
import { blockListOf, familyOf, isIn, isPublicAddress } from './public-addresses.js';

/** Resolves a name to all of its addresses, as `lookup` of `node:dns` does. */
export type LookupAll = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

/**
 * Refuses private addresses. A name is checked when a connection is opened, and the connection is made to an address
 * that was checked, so that a second answer of the DNS server can't lead elsewhere.
 */
export class AddressGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #ranges: BlockList;
  readonly #lookup: LookupAll;

  /**
   * @param allowed hosts, addresses and ranges that may be private
   * @throws `INVALID_CONFIG`
   */
  constructor(allowed: readonly string[] = [], lookup: LookupAll = systemLookup) {
    const ranges = allowed.filter((entry) => familyOf(entry.split('/')[0] ?? '') !== undefined);
    this.#hosts = new Set(allowed.filter((entry) => !ranges.includes(entry)).map(hostnameOf));
    this.#ranges = rangesOf(ranges);
    this.#lookup = lookup;
  }

  /** @throws `PermanentError` for an address that stands in the URL itself. */
  assertPermits({ hostname }: URL): void {
    const host = withoutBrackets(hostname);
    if (familyOf(host) === undefined || this.#permits(host)) return;
    throw new PermanentError(`${host} is not a public address${ADVICE}`);
  }

  /** Resolves to permitted addresses only; for `http.request`. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.#lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const permitted = addresses.filter(
        ({ address }) => this.#hosts.has(hostname.toLowerCase()) || this.#permits(address),
      );
      const [first] = permitted;
      if (!first) return callback(refused(hostname), []);
      if (options.all) return callback(null, [...permitted]);
      return callback(null, first.address, first.family);
    });
  };

  #permits(address: string): boolean {
    return isPublicAddress(address) || isIn(this.#ranges, address);
  }
}

const ADVICE = '; to permit it, see allowPrivateAddresses';

/** Not permanent: the name may lead elsewhere tomorrow. Not an outage either, or the row would wait forever. */
function refused(hostname: string): Error {
  return new TransientError(`${hostname} has no public address${ADVICE}`);
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** As URLs have it: in lower case, without a port. */
function hostnameOf(entry: string): string {
  const url = URL.canParse(`http://${entry}/`) ? new URL(`http://${entry}/`) : undefined;
  if (url && /^[^/?#@:\\]+$/.test(entry)) return url.hostname;
  throw invalid(entry);
}

function rangesOf(ranges: readonly string[]): BlockList {
  for (const range of ranges) {
    try {
      blockListOf([range]);
    } catch {
      throw invalid(range);
    }
  }
  return blockListOf(ranges);
}

function invalid(entry: string): OutboxError {
  return new OutboxError(
    'INVALID_CONFIG',
    `webhookPublisher: allowPrivateAddresses takes host names, addresses and ranges such as 10.1.0.0/16, got ${JSON.stringify(entry)}`,
  );
}
