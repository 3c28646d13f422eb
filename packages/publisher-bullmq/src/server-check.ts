import type { PublisherProblem } from '@postcommit/core';
import type { Session } from './session.js';

/** Settings under which a job can get lost that Redis has taken. */
export async function serverProblems(session: Session, isBorrowed: boolean): Promise<PublisherProblem[]> {
  const { client } = session;
  if (!client) return [];
  const [reply] = await session.all([async () => client.info?.()]);
  if (reply?.status === 'rejected') throw reply.reason;
  const info = new Map(linesOf(reply?.value ?? ''));
  return [
    ...eviction(info.get('maxmemory_policy')),
    ...disk(info.get('aof_enabled')),
    ...(isBorrowed ? leftovers(client.options) : []),
  ];
}

function linesOf(info: string): Array<readonly [string, string]> {
  return info.split(/\r?\n/).flatMap((line) => {
    const colon = line.indexOf(':');
    return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
  });
}

function eviction(policy: string | undefined): PublisherProblem[] {
  if (policy === 'noeviction') return [];
  if (policy === undefined) return [hidden('maxmemory-policy')];
  const problem = `the Redis server has maxmemory-policy ${policy}: it deletes jobs when its memory is full`;
  return [warning(problem, 'set maxmemory-policy to noeviction: then rows wait in the outbox')];
}

function disk(isEnabled: string | undefined): PublisherProblem[] {
  if (isEnabled === '1') return [];
  if (isEnabled === undefined) return [hidden('appendonly')];
  const problem = 'the Redis server has appendonly no: a crash loses the jobs since its last snapshot';
  return [
    warning(problem, 'set appendonly to yes, and appendfsync to always if a power cut must lose nothing'),
  ];
}

/** What the client of a queue does with jobs that were given up. */
function leftovers(
  options: { enableOfflineQueue?: boolean; autoResendUnfulfilledCommands?: boolean } = {},
): PublisherProblem[] {
  const { enableOfflineQueue = true, autoResendUnfulfilledCommands = true } = options;
  if (!enableOfflineQueue && !autoResendUnfulfilledCommands) return [];
  const problem =
    'the connection of the queue adds jobs after it was lost, also those that were given up meanwhile';
  return [
    warning(
      problem,
      'set enableOfflineQueue and autoResendUnfulfilledCommands to false, or pass connection and name',
    ),
  ];
}

function hidden(setting: string): PublisherProblem {
  const problem = `the Redis server does not show ${setting}, so it is not checked`;
  return warning(problem, 'look at the settings of the service');
}

function warning(problem: string, fix: string): PublisherProblem {
  return { level: 'warning', problem, fix };
}
