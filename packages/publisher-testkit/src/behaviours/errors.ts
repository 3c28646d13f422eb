import { inspect } from 'node:util';
import { errorText } from '@postcommit/core/internal';
import { expect } from 'vitest';
import type { BehaviourGroup } from '../behaviour.js';
import { expectRejected } from '../expectations.js';
import type { Scene } from '../scene.js';
import type { Sender } from '../sender.js';
import type { RowFields } from '../test-rows.js';

/** What must not be in an error: it is stored with the row, and logged. */
const PRIVATE_PAYLOAD = 'iban-DE02120300000000202051';
const PRIVATE_HEADER = 'bearer-9f86d081884c7d65';
const PRIVATE: RowFields = { payload: { note: PRIVATE_PAYLOAD }, headers: { authorization: PRIVATE_HEADER } };

function expectNoSecrets(scene: Scene, error: unknown, what: string): void {
  const texts = { 'the text': errorText(error), 'what is logged': inspect(error, { depth: 8 }) };
  for (const [where, text] of Object.entries(texts))
    for (const secret of [...scene.fixture.secrets, PRIVATE_PAYLOAD, PRIVATE_HEADER])
      expect(
        text.includes(secret),
        `${what}: ${where} of the error has a secret: ${mask(text, secret)}`,
      ).toBe(false);
}

function mask(text: string, secret: string): string {
  return text.replaceAll(secret, '<SECRET>').slice(0, 500);
}

async function publishPrivate(
  scene: Scene,
  sender: Sender,
  what: string,
  fields: RowFields = {},
): Promise<unknown> {
  const row = scene.row({ ...PRIVATE, ...fields });
  const error = expectRejected(await sender.publish(row), what);
  expectNoSecrets(scene, error, what);
  const [result] = await sender.batch([row]);
  expectNoSecrets(scene, expectRejected(result, what), what);
  return error;
}

export const errors: BehaviourGroup = {
  name: 'errors',
  behaviours: {
    'an outage is an Error with a cause, without secrets': async (scene) => {
      const sender = await scene.connected();
      await scene.fixture.link.cut();
      const error = await publishPrivate(scene, sender, 'a cut connection');
      expect(error).toBeInstanceOf(Error);
      expect((error as Error).cause, 'the cause of the error').toBeDefined();
    },

    'an error of start has no secrets': async (scene) => {
      await scene.fixture.link.cut();
      const error: unknown = await scene
        .sender()
        .start()
        .catch((reason) => reason);
      expectNoSecrets(scene, error, 'start');
    },

    'the error of a broker that does not answer has no secrets': async (scene) => {
      const sender = await scene.connected();
      scene.fixture.link.freeze();
      await publishPrivate(scene, sender, 'a frozen connection');
    },

    'refused credentials are not in the error': async (scene) => {
      const sender = scene.sender(scene.needs('withWrongCredentials')());
      expectNoSecrets(scene, await sender.start().catch((reason: unknown) => reason), 'start');
      await publishPrivate(scene, sender, 'wrong credentials');
    },

    'the error of a refused row has no secrets': async (scene) => {
      const topic = scene.needs('refusingTopic');
      await publishPrivate(scene, await scene.connected(), 'a refused row', { topic });
    },

    'the error of an unroutable row has no secrets': async (scene) => {
      const topic = scene.needs('unroutableTopic');
      await publishPrivate(scene, await scene.connected(), 'an unroutable row', { topic });
    },

    'the error of an impossible row has no secrets': async (scene) => {
      const rows = scene.needs('impossibleRows')(scene.row(PRIVATE));
      const sender = await scene.connected();
      for (const [why, { id: _, ...fields }] of Object.entries(rows))
        await publishPrivate(scene, sender, why, fields);
    },
  },
};
