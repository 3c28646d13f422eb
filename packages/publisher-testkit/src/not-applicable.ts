/** The fixture lacks what a behaviour needs, so the test is skipped with this message. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}
