import type { BehaviourGroup } from './behaviour.js';
import { away } from './behaviours/away.js';
import { backPressure } from './behaviours/back-pressure.js';
import { batch } from './behaviours/batch.js';
import { bounded } from './behaviours/bounded.js';
import { concurrency } from './behaviours/concurrency.js';
import { confirmed } from './behaviours/confirmed.js';
import { content } from './behaviours/content.js';
import { errors } from './behaviours/errors.js';
import { identity } from './behaviours/identity.js';
import { impossible } from './behaviours/impossible.js';
import { lifecycle } from './behaviours/lifecycle.js';
import { order } from './behaviours/order.js';
import { startCheck } from './behaviours/start-check.js';
import { surviving } from './behaviours/surviving.js';
import { unroutable } from './behaviours/unroutable.js';

export const behaviourGroups: readonly BehaviourGroup[] = [
  confirmed,
  surviving,
  unroutable,
  away,
  bounded,
  batch,
  order,
  concurrency,
  identity,
  content,
  impossible,
  errors,
  backPressure,
  lifecycle,
  startCheck,
];
