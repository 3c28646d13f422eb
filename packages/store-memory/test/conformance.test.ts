import { describeOutboxStore } from '@postcommit/store-testkit';
import { openMemoryOutbox } from './open-memory-outbox.js';

describeOutboxStore('MemoryOutboxStore', { open: async () => openMemoryOutbox() });
