import type { Scene } from './scene.js';

/** Throws if the publisher fails the behaviour. Behaviours are data, so the suite can be tested against broken publishers. */
export type Behaviour = (scene: Scene) => Promise<void>;

/** A group of behaviours. Each key is the sentence that names the test. */
export interface BehaviourGroup {
  readonly name: string;
  readonly behaviours: Readonly<Record<string, Behaviour>>;
}
