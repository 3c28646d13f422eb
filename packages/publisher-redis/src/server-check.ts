import type { PublisherProblem } from '@postcommit/core';
import { codeOf } from './redis-errors.js';
import type { AnyRedisOptions } from './redis-options.js';
import { mayWaitForAof, type ServerInfo } from './server-info.js';
import type { Connected } from './sessions.js';

const SETTINGS = ['maxmemory-policy', 'appendonly', 'appendfsync'] as const;

type Settings = Readonly<Record<(typeof SETTINGS)[number], string | undefined>>;

/** Settings under which a message can get lost that Redis has taken. */
export async function serverProblems(
  { session, server }: Connected,
  options: AnyRedisOptions,
): Promise<PublisherProblem[]> {
  const replies = await session.pipeline(SETTINGS.map((name) => ['CONFIG', 'GET', name]));
  const failed = replies.find((reply) => reply.status === 'rejected' && codeOf(reply.reason) === undefined);
  if (failed?.status === 'rejected') throw failed.reason;
  const [policy, appendonly, appendfsync] = replies.map(settingOf);
  const settings = { 'maxmemory-policy': policy, appendonly, appendfsync };
  return [
    ...placement(server),
    ...durability(settings, server, options),
    ...eviction(settings),
    ...(options.maxLength === undefined ? [] : [trimming(options.maxLength)]),
    ...hidden(settings),
  ];
}

/** Undefined if this user may not see it, or a service has no `CONFIG`. */
function settingOf(reply: PromiseSettledResult<unknown>): string | undefined {
  if (reply.status === 'rejected') return undefined;
  const values = Array.isArray(reply.value) ? reply.value.slice(1) : Object.values(reply.value ?? {});
  return values[0] === undefined ? undefined : String(values[0]);
}

function placement({ mode, role }: ServerInfo): PublisherProblem[] {
  if (mode === 'sentinel')
    return [required('is a sentinel, which has no streams', 'pass the address of the master')];
  return [
    ...(role === 'replica'
      ? [warning('is a replica, which takes no messages', 'pass the address of the master')]
      : []),
    ...(mode === 'cluster'
      ? [
          warning(
            'is a node of a cluster: streams of other nodes are refused',
            'use streams of one slot, by a hash tag such as {orders}',
          ),
        ]
      : []),
  ];
}

function durability(
  settings: Settings,
  server: ServerInfo,
  { durability = {} }: AnyRedisOptions,
): PublisherProblem[] {
  const { wait, waitAof } = durability;
  if (waitAof && !mayWaitForAof(server))
    return [required('has no WAITAOF', 'use Redis 7.2 or newer, or remove durability.waitAof')];
  if (settings.appendonly === 'no') {
    if (waitAof) return [required('has appendonly no, so WAITAOF fails', 'set appendonly to yes')];
    return [
      warning(
        'has appendonly no: a crash loses the messages since its last snapshot',
        'set appendonly to yes',
      ),
    ];
  }
  if (settings.appendfsync === undefined || settings.appendfsync === 'always' || wait || waitAof) return [];
  const problem = `has appendfsync ${settings.appendfsync}: a power cut loses the last messages`;
  return [warning(problem, 'set appendfsync to always, or pass durability.waitAof or durability.wait')];
}

function eviction({ 'maxmemory-policy': policy }: Settings): PublisherProblem[] {
  if (policy === undefined || policy === 'noeviction') return [];
  const what = policy.startsWith('volatile') ? 'streams that expire' : 'whole streams';
  const problem = `has maxmemory-policy ${policy}: it deletes ${what} when its memory is full`;
  return [warning(problem, 'set maxmemory-policy to noeviction: then rows wait in the outbox')];
}

function trimming(maxLength: number): PublisherProblem {
  const problem = `is told to keep about ${maxLength} messages of a stream: older ones are deleted, read or not`;
  return warning(problem, 'remove maxLength, and trim behind the slowest consumer');
}

function hidden(settings: Settings): PublisherProblem[] {
  const names = SETTINGS.filter((name) => settings[name] === undefined);
  if (names.length === 0) return [];
  const problem = `does not show ${names.join(', ')}, so they are not checked`;
  return [warning(problem, 'allow CONFIG GET to this user, or look at the settings of the service')];
}

function required(problem: string, fix: string): PublisherProblem {
  return { level: 'required', problem: `the Redis server ${problem}`, fix };
}

function warning(problem: string, fix: string): PublisherProblem {
  return { level: 'warning', problem: `the Redis server ${problem}`, fix };
}
