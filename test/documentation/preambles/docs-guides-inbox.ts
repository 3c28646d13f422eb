import { createOutbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import { pool } from './every-page.js';

export const outbox = createOutbox({ store: pgStore(pool), worker: false });
