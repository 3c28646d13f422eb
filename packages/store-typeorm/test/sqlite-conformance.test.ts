import { describeOutboxStore } from '@postcommit/store-testkit';
import { sqliteHarness } from './sqlite-fixture.js';

describeOutboxStore('TypeormOutboxStore on SQLite', sqliteHarness);
