import { type OutboxRow, PermanentError, type PublishContext, TransientError } from '@postcommit/core';

/** What the handler needs of a mail server. */
export interface MailServer {
  /** Gives the status that the server answers with. Mails with an id that it has seen are not sent again. */
  send(mail: { id: string; to: string }, signal: AbortSignal): Promise<number>;
}

/** The application's own code: what `OutboxModule.forRoot({ publisher })` is given in production. */
export function confirmOrder(mailServer: MailServer) {
  return async ({ id, payload }: OutboxRow, { signal }: PublishContext): Promise<void> => {
    const { email } = payload as { email: string };
    const status = await mailServer.send({ id, to: email }, signal);
    if (status === 550) throw new PermanentError(`no such mailbox: ${email}`);
    if (status === 421) throw new TransientError('the mail server is closing', 60_000);
    if (status !== 250) throw new Error(`the mail server answered ${status}`);
  };
}
