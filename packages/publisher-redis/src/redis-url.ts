const DEFAULT_PORT = 6379;

/** The options that are about the address. */
export interface AddressOptions {
  readonly url?: unknown;
  readonly username?: unknown;
  readonly password?: unknown;
  readonly tls?: unknown;
}

/** What a URL says. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly database: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** What is wrong with the address. Never quotes the URL: it may hold a password. */
export function addressProblem({ url, username, password, tls }: AddressOptions): string | undefined {
  const address = typeof url === 'string' ? addressOf(url) : undefined;
  if (!address) return 'url must be an address such as redis://localhost:6379/0';
  const isTwice = (inUrl: string | undefined, own: unknown): boolean =>
    inUrl !== undefined && own !== undefined;
  if (isTwice(address.username, username) || isTwice(address.password, password))
    return 'the credentials are in url, and in username and password as well';
  if (tls !== undefined && !address.isTls) return 'tls has no effect on redis://: use rediss://';
  return undefined;
}

/** Undefined if it can't be an address of Redis. */
export function addressOf(url: string): RedisAddress | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(url);
  const [, database = ''] = /^\/?(\d{0,9})$/.exec(pathname) ?? [undefined, 'none'];
  const isRedis = protocol === 'redis:' || protocol === 'rediss:';
  if (!isRedis || hostname === '' || database === 'none' || search !== '' || hash !== '') return undefined;
  try {
    return {
      // IPv6 stands in brackets.
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? DEFAULT_PORT : Number(port),
      isTls: protocol === 'rediss:',
      database: Number(database),
      username: decoded(username),
      password: decoded(password),
    };
  } catch {
    return undefined;
  }
}

function decoded(text: string): string | undefined {
  return text === '' ? undefined : decodeURIComponent(text);
}
