import type { Transport } from './transport.js';

/** The global `fetch`, with whatever the application has set for it, such as a proxy. */
export const fetchTransport: Transport = {
  send: ({ url, headers, body }, signal) =>
    fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal }),
  // The connections belong to the process.
  close: () => {},
};
