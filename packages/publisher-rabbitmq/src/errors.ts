import { PermanentError, UnavailableError } from '@postcommit/core';

// Reply codes of AMQP 0-9-1.
const CONTENT_TOO_LARGE = 311;
const ACCESS_REFUSED = 403;
const NOT_FOUND = 404;
const PRECONDITION_FAILED = 406;

/** Why a channel was closed: by the broker with a code, or with its connection. */
export interface Closing {
  /** AMQP's reply code; undefined if the connection was lost. */
  readonly code: number | undefined;
  readonly cause: unknown;
  /** Why the broker took no messages then. */
  readonly blockedBecause: string | undefined;
}

/** Whether one message of several can be the reason. Without an exchange, all of them fail. */
export function isAboutOneMessage({ code }: Closing): boolean {
  return code !== undefined && code !== NOT_FOUND;
}

/** The error of the message that made the broker close the channel, or of all messages that were unconfirmed. */
export function errorOfClosing(closing: Closing, id: string, exchange: string): Error {
  const { code, cause, blockedBecause } = closing;
  switch (code) {
    case undefined:
      if (blockedBecause !== undefined) return blocked(blockedBecause, cause);
      return new UnavailableError('the connection to RabbitMQ was lost before the confirm', { cause });
    case NOT_FOUND:
      return new UnavailableError(`RabbitMQ has no exchange '${exchange}'`, { isCertain: true, cause });
    case CONTENT_TOO_LARGE:
    case PRECONDITION_FAILED:
      return new PermanentError(`RabbitMQ refused row ${id}, code ${code}`, { cause });
    case ACCESS_REFUSED:
      return new UnavailableError(`RabbitMQ does not allow row ${id} in exchange '${exchange}'`, { cause });
    default:
      return new UnavailableError(`RabbitMQ closed the channel, code ${code}`, { cause });
  }
}

/** An alarm of the broker: too little memory, or disk. */
export function blocked(because: string, cause: unknown): UnavailableError {
  return new UnavailableError(blockedText(because), { isCertain: true, cause });
}

export function blockedText(because: string): string {
  return `RabbitMQ blocks its publishers: ${because}`;
}

/** No row is involved in connecting, so a failure is certain to be about the broker. */
export function notConnected(problem: string, cause: unknown): UnavailableError {
  return new UnavailableError(problem, { isCertain: true, cause });
}

/** AMQP's reply code in an error of amqplib. */
export function replyCodeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'number' ? error.code : undefined;
}

/** amqplib throws it where a channel or connection has begun to close. */
export function isClosedError(error: unknown): boolean {
  return error instanceof Error && error.name === 'IllegalOperationError';
}
