import { OutboxError } from '@postcommit/core';

/** For a message that can't be processed, however often it is delivered. Must not quote the message. */
export function invalidMessage(problem: string, options?: ErrorOptions): OutboxError {
  return new OutboxError('INVALID_MESSAGE', problem, options);
}
