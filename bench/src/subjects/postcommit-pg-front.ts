import { routePublisher, UnavailableError } from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { BATCH_SIZE, type Subject } from '../subject.js';
import { CountingPublisher } from './counting-publisher.js';
import { createOutbox, outboxTable } from './outbox-table.js';
import { runApplication } from './postcommit.js';

export const PAUSED = 'paused';
export const LIMITED = 'limited';
export const AWAY = 'away';

/** Only the case with rows in front knows how to use it. */
export const postcommitPgFront: Subject = {
  id: 'store-pg-front',
  name: 'postcommit, store-pg, routes',
  settings:
    'as store-pg, with a route whose destination is away, and a topic that is limited to 50 rows a second',
  isOurs: true,
  isApart: true,
  prepare: createOutbox,
  cannot: { transact: 'enqueues as store-pg does' },
  open: async (place) => ({
    ...outboxTable(place),
    close: async () => {},
    consume: (report) =>
      runApplication(OutboxPgModule.forRoot({ pool: place.pool }), {
        batchSize: BATCH_SIZE,
        rateLimit: { [LIMITED]: { perSecond: 50 } },
        publisher: routePublisher({
          [AWAY]: () => Promise.reject(new UnavailableError('nobody answers', { isCertain: true })),
          '*': new CountingPublisher(report),
        }),
      }),
  }),
};
