import type { Scenario } from '../scenario.js';
import { clockScenarios } from './clock.js';
import { crowdScenarios } from './crowd.js';
import { crowdedKeyScenarios } from './crowded-key.js';
import { dataScenarios } from './data.js';
import { editedRowsScenarios } from './edited-rows.js';
import { killScenarios } from './kill.js';
import { maintenanceScenarios } from './maintenance.js';
import { mixScenarios } from './mix.js';
import { outageScenarios } from './outage.js';
import { publisherScenarios } from './publisher.js';
import { rollOutScenarios } from './roll-out.js';
import { serverScenarios } from './server.js';
import { sweepAndMigrationScenarios } from './sweep-and-migration.js';
import { takeoverScenarios } from './takeover.js';
import { wireScenarios } from './wire.js';

export const scenarios: readonly Scenario[] = [
  ...killScenarios,
  ...takeoverScenarios,
  ...sweepAndMigrationScenarios,
  ...serverScenarios,
  ...crowdScenarios,
  ...maintenanceScenarios,
  ...wireScenarios,
  ...publisherScenarios,
  ...outageScenarios,
  ...clockScenarios,
  ...editedRowsScenarios,
  ...dataScenarios,
  ...crowdedKeyScenarios,
  ...rollOutScenarios,
  ...mixScenarios,
];
