export declare function sendMail(
  mail: unknown,
  options: { idempotencyKey: string; signal: AbortSignal },
): Promise<void>;
