import { UnavailableError } from '@postcommit/core';
import { codeOf } from './redis-errors.js';
import { DEFAULT_WAIT_MS, type RedisDurability } from './redis-options.js';
import type { RedisCommand } from './session.js';

/** A command behind the messages, and what its answer must be. */
interface Requirement {
  readonly command: RedisCommand;
  /** What is missing; undefined if nothing is. */
  problem(reply: unknown): string | undefined;
}

/** Both are about everything that was sent on the connection before. They do not fail when their time is over. */
export function requirementsOf({ wait, waitAof }: RedisDurability = {}): Requirement[] {
  return [
    ...(wait ? [replicated(wait.replicas, wait.timeoutMs)] : []),
    ...(waitAof ? [written(waitAof.replicas, waitAof.timeoutMs)] : []),
  ];
}

/** Why messages that the server has taken are not delivered all the same; undefined if they are. */
export function shortfall(
  requirements: readonly Requirement[],
  replies: ReadonlyArray<PromiseSettledResult<unknown>>,
): unknown {
  for (const [index, { command, problem }] of requirements.entries()) {
    const reply = replies[index];
    if (reply?.status !== 'fulfilled') return refusal(String(command[0]), reply?.reason);
    const found = problem(reply.value);
    if (found !== undefined)
      return new UnavailableError(found, {
        isCertain: true,
        cause: new Error(`${command.join(' ')} returned ${JSON.stringify(reply.value)}`),
      });
  }
  return undefined;
}

function replicated(replicas: number, timeoutMs = DEFAULT_WAIT_MS): Requirement {
  return {
    command: ['WAIT', String(replicas), String(timeoutMs)],
    problem: (reply) =>
      Number(reply) >= replicas
        ? undefined
        : `only ${Number(reply)} of ${replicas} replicas received the message in ${timeoutMs} ms`,
  };
}

function written(replicas = 0, timeoutMs = DEFAULT_WAIT_MS): Requirement {
  return {
    command: ['WAITAOF', '1', String(replicas), String(timeoutMs)],
    problem: (reply) => {
      const [local, others] = Array.isArray(reply) ? reply.map(Number) : [0, 0];
      if (!(Number(local) >= 1)) return `the server did not write the message to its disk in ${timeoutMs} ms`;
      if (Number(others) >= replicas) return undefined;
      return `only ${others} of ${replicas} replicas wrote the message to their disk in ${timeoutMs} ms`;
    },
  };
}

/** An error reply, or no answer at all, which says itself what it is. */
function refusal(command: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  const cause = new Error(`${command} was refused with ${code}`);
  return new UnavailableError(`Redis refuses ${command}, which durability needs (${code})`, {
    isCertain: true,
    cause,
  });
}
