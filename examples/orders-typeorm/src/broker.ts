interface Message {
  readonly topic: string;
  readonly payload: unknown;
  readonly messageId: string;
}

/** Stands for yours: it only remembers. */
export const broker = {
  sent: [] as Message[],
  send: async (topic: string, payload: unknown, options: { messageId: string }): Promise<void> => {
    broker.sent.push({ topic, payload, ...options });
  },
};
