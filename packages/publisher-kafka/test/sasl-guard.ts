import { answerTo, type KafkaRequestFrame, SASL_AUTHENTICATE, SASL_HANDSHAKE } from './kafka-frames.js';
import type { RequestGuard } from './kafka-gate.js';

const REFUSED = 58;
const NO_TAGS = 0;
/** A string or bytes, in the compact form: one more than their length, or 0 for null. */
const NULL = 0;
const EMPTY = 1;
const NO_LIFETIME = [0, 0, 0, 0, 0, 0, 0, 0];

/** A login with user name and password, which the mock cluster does not have. */
export class SaslGuard implements RequestGuard {
  readonly #password: string;
  /** Logins so far. */
  logins = 0;

  constructor(password: string) {
    this.#password = password;
  }

  answer(request: KafkaRequestFrame): Buffer | undefined {
    if (request.kind === SASL_HANDSHAKE)
      return answerTo(request, [0, 0, 0, 0, 0, 1, 0, 5, ...Buffer.from('PLAIN')]);
    if (request.kind !== SASL_AUTHENTICATE) return undefined;
    this.logins += 1;
    // The message is NUL, user name, NUL, password.
    const error = request.body.includes(`\0${this.#password}`) ? 0 : REFUSED;
    return answerTo(request, [NO_TAGS, 0, error, NULL, EMPTY, ...NO_LIFETIME, NO_TAGS]);
  }
}
