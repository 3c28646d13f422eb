import type { BehaviourGroup } from './behaviour.js';
import { away } from './behaviours/away.js';
import { batch } from './behaviours/batch.js';
import { confirmed } from './behaviours/confirmed.js';
import { content } from './behaviours/content.js';
import { identity } from './behaviours/identity.js';
import { lifecycle } from './behaviours/lifecycle.js';
import { order } from './behaviours/order.js';

export const behaviourGroups: readonly BehaviourGroup[] = [
  confirmed,
  away,
  batch,
  order,
  identity,
  content,
  lifecycle,
];
