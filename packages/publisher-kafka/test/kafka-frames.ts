import type { Socket } from 'node:net';

/** Numbers of requests in the protocol. */
export const PRODUCE = 0;
export const SASL_HANDSHAKE = 17;
export const SASL_AUTHENTICATE = 36;

const LENGTH_BYTES = 4;

/** A request as a client has sent it. */
export interface KafkaRequestFrame {
  readonly kind: number;
  readonly version: number;
  readonly correlationId: number;
  /** What follows the client's id. */
  readonly body: Buffer;
}

/** Calls back with each request or answer, its length in front. */
export function splitFrames(socket: Socket, onFrame: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let bytes = frameBytes(rest); bytes <= rest.length; bytes = frameBytes(rest)) {
      onFrame(Buffer.from(rest.subarray(0, bytes)));
      rest = rest.subarray(bytes);
    }
  });
}

/** The size of the first frame; more than there is if it has not arrived completely. */
function frameBytes(received: Buffer): number {
  if (received.length < LENGTH_BYTES) return Number.POSITIVE_INFINITY;
  return LENGTH_BYTES + received.readInt32BE(0);
}

export function readRequest(frame: Buffer): KafkaRequestFrame {
  const clientIdBytes = Math.max(0, frame.readInt16BE(12));
  return {
    kind: frame.readInt16BE(4),
    version: frame.readInt16BE(6),
    correlationId: frame.readInt32BE(8),
    body: frame.subarray(14 + clientIdBytes),
  };
}

/** The acknowledgements that a produce request asks for. The mock cluster speaks versions up to 7 of it. */
export function acksOf({ body }: KafkaRequestFrame): number {
  const transactionalIdBytes = Math.max(0, body.readInt16BE(0));
  return body.readInt16BE(2 + transactionalIdBytes);
}

/** An answer with its length in front. */
export function answerTo({ correlationId }: KafkaRequestFrame, body: readonly number[]): Buffer {
  const answer = Buffer.alloc(2 * LENGTH_BYTES + body.length);
  answer.writeInt32BE(LENGTH_BYTES + body.length, 0);
  answer.writeInt32BE(correlationId, LENGTH_BYTES);
  answer.set(body, 2 * LENGTH_BYTES);
  return answer;
}
