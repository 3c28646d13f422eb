import { codeOf } from './redis-errors.js';
import type { Session } from './session.js';

/** What a server says about itself. */
export interface ServerInfo {
  /** `redis`, or another name, such as `valkey`. */
  readonly name: string;
  readonly version: readonly [major: number, minor: number];
  readonly mode: string;
  readonly role: string;
}

/** Servers older than 6.2 do not say. */
const UNKNOWN: ServerInfo = { name: 'unknown', version: [0, 0], mode: 'unknown', role: 'unknown' };
const IDEMPOTENT_SINCE = [8, 6] as const;
const WAITAOF_SINCE = [7, 2] as const;

/** Also finds out whether the login is good. Any user may ask. */
export async function serverInfo(session: Session): Promise<ServerInfo> {
  try {
    return infoOf(await session.command(['HELLO']));
  } catch (error) {
    if (codeOf(error) === 'ERR') return UNKNOWN;
    throw error;
  }
}

/** Whether it drops an entry whose id it got before: `XADD` with `IDMP`. */
export function isIdempotent(server: ServerInfo): boolean {
  return isSince(server, IDEMPOTENT_SINCE);
}

/** False if it is known not to have `WAITAOF`. */
export function mayWaitForAof(server: ServerInfo): boolean {
  return server.name !== 'redis' || isSince(server, WAITAOF_SINCE);
}

function isSince({ name, version: [major, minor] }: ServerInfo, since: readonly [number, number]): boolean {
  return name === 'redis' && (major > since[0] || (major === since[0] && minor >= since[1]));
}

/** Names and values in turn, or an object: by the version of the protocol. */
function infoOf(reply: unknown): ServerInfo {
  const values = new Map<string, string>();
  if (Array.isArray(reply))
    for (let index = 0; index + 1 < reply.length; index += 2)
      values.set(String(reply[index]), String(reply[index + 1]));
  else for (const [name, value] of Object.entries(reply ?? {})) values.set(name, String(value));
  const [major = 0, minor = 0] = (values.get('version') ?? '').split('.').map(Number);
  return {
    name: values.get('server') ?? UNKNOWN.name,
    version: [major, minor],
    mode: values.get('mode') ?? UNKNOWN.mode,
    role: values.get('role') ?? UNKNOWN.role,
  };
}
