import { type MessageFormat, OutboxError, type OutboxRow } from '@postcommit/core';
import { assertKnownOptions, assertTimerDelay, type OptionNames } from '@postcommit/core/internal';
import { headerProblem } from './http-headers.js';
import { keyOf, SECRET_FORMAT } from './signature.js';
import { urlProblem } from './target.js';

/** Headers of the application, such as `authorization`. */
export type WebhookHeaders = Readonly<Record<string, string>>;

/** A secret as Standard Webhooks writes it (`whsec_…`), or several while they are rotated: one signature for each. */
export type WebhookSecret = string | readonly string[];

/** What a response means for its row. */
export type WebhookVerdict = 'permanent' | 'transient' | 'unavailable';

/** Options of `webhookPublisher` and `OutboxWebhookModule`. */
export interface WebhookOptions extends MessageFormat {
  /**
   * Where rows are sent: one address, or that of each row. Return the same address for the same row, and throw a
   * `PermanentError` if there is none. With a function that returns a promise, `destinationOf` is required.
   */
  readonly url: string | URL | ((row: OutboxRow) => string | URL | Promise<string | URL>);
  /**
   * Signs requests as Standard Webhooks has it. A function is called for every request, e.g. for the secret of a tenant.
   * `false` sends unsigned requests.
   */
  readonly secret: WebhookSecret | false | ((row: OutboxRow) => WebhookSecret | Promise<WebhookSecret>);
  /** Added to every request. A function is called for every request, e.g. for a token that expires. @default none */
  readonly headers?:
    | WebhookHeaders
    | ((row: OutboxRow) => WebhookHeaders | Promise<WebhookHeaders>)
    | undefined;
  /** How long an answer may take. Keep it below `publishTimeoutMs`. @default 15_000 */
  readonly timeoutMs?: number | undefined;
  /**
   * Rows with the same destination stop together when it is unavailable. It appears in logs and metrics.
   * @default the host, if `url` is a function; otherwise all rows have the same one
   */
  readonly destinationOf?: ((row: OutboxRow) => string) | undefined;
  /**
   * What a status means to your receiver, where that differs from the table in the README: `{ 404: 'permanent' }` if it
   * answers 404 for a customer that does not exist. A 2xx is always delivered, and nothing else is.
   */
  readonly statuses?: Readonly<Record<number, WebhookVerdict>> | undefined;
  /**
   * Whether requests may go to private addresses: this host, your network, a cloud's metadata. A list permits hosts,
   * addresses and ranges (`10.1.0.0/16`), and refuses all other private addresses.
   *
   * @default true for an address of yours, false if `url` is a function
   */
  readonly allowPrivateAddresses?: boolean | readonly string[] | undefined;
}

const OPTION_NAMES: OptionNames<WebhookOptions> = {
  url: true,
  secret: true,
  headers: true,
  timeoutMs: true,
  destinationOf: true,
  statuses: true,
  allowPrivateAddresses: true,
  encode: true,
  cloudEvents: true,
};
const CLOUD_EVENTS_NAMES: OptionNames<WebhookOptions['cloudEvents'] & object> = { source: true };
const VERDICTS: readonly unknown[] = ['permanent', 'transient', 'unavailable'] satisfies WebhookVerdict[];

export const DEFAULT_TIMEOUT_MS = 15_000;

/** @throws `INVALID_CONFIG` */
export function assertWebhookOptions(options: WebhookOptions): void {
  assertKnownOptions('webhookPublisher', options, OPTION_NAMES);
  assertKnownOptions('webhookPublisher: cloudEvents', options.cloudEvents ?? {}, CLOUD_EVENTS_NAMES);
  assertTimerDelay('webhookPublisher: timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const problem =
    problemOfUrl(options) ??
    problemOfSecret(options) ??
    problemOfHeaders(options) ??
    problemOfStatuses(options) ??
    problemOfRest(options);
  if (problem !== undefined) throw new OutboxError('INVALID_CONFIG', `webhookPublisher: ${problem}`);
}

/** Returns the keys that requests are signed with, or what is wrong with the secret. */
export function keysOf(secret: unknown): readonly Buffer[] | string {
  const secrets: unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0) return 'secret is an empty list';
  const keys = secrets.flatMap((one) => keyOf(one) ?? []);
  return keys.length === secrets.length ? keys : `each secret must be ${SECRET_FORMAT}`;
}

/** What is wrong with headers of the application. */
export function problemOfOwnHeaders(headers: unknown): string | undefined {
  if (typeof headers !== 'object' || headers === null) return 'headers must be an object of strings';
  for (const [name, value] of Object.entries(headers)) {
    const problem = OURS.test(name) ? `header '${name}' is set by the publisher` : headerProblem(name, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Headers that say what the message is. */
const OURS =
  /^(?:webhook-(?:id|timestamp|signature)|outbox-(?:id|topic|key|created-at)|ce-.*|content-type)$/i;

function problemOfUrl({ url }: WebhookOptions): string | undefined {
  if (typeof url === 'function') return undefined;
  const problem = urlProblem(url);
  return problem === undefined ? undefined : `url ${problem}`;
}

function problemOfSecret({ secret }: WebhookOptions): string | undefined {
  if (secret === false || typeof secret === 'function') return undefined;
  const keys = keysOf(secret);
  return typeof keys === 'string' ? `${keys}; to send unsigned requests, set secret: false` : undefined;
}

function problemOfHeaders({ headers = {} }: WebhookOptions): string | undefined {
  return typeof headers === 'function' ? undefined : problemOfOwnHeaders(headers);
}

function problemOfStatuses({ statuses = {} }: WebhookOptions): string | undefined {
  for (const [status, verdict] of Object.entries(statuses)) {
    if (!/^[345]\d\d$/.test(status)) return `statuses has ${status}: only 300 to 599 can be set`;
    if (!VERDICTS.includes(verdict)) return `statuses: ${status} must be one of ${VERDICTS.join(', ')}`;
  }
  return undefined;
}

function problemOfRest({ allowPrivateAddresses = true, ...options }: WebhookOptions): string | undefined {
  const { destinationOf, encode, cloudEvents } = options;
  if (typeof allowPrivateAddresses !== 'boolean' && !Array.isArray(allowPrivateAddresses))
    return 'allowPrivateAddresses must be a boolean or a list';
  if (destinationOf !== undefined && typeof destinationOf !== 'function')
    return 'destinationOf must be a function';
  if (encode !== undefined && typeof encode !== 'function') return 'encode must be a function';
  if (cloudEvents !== undefined && !cloudEvents.source) return 'cloudEvents needs a source';
  return undefined;
}
