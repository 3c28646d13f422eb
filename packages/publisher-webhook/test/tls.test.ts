import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { absenceOf } from '@postcommit/core/internal';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebhookOptions } from '../src/index.js';
import { failureOf, publish, publisherOf } from './fixture.js';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** A certificate for localhost that nobody has signed. */
function certificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'webhook-tls-'));
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  try {
    const kind = [
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ];
    execFileSync('openssl', ['req', ...kind, ...files, ...subject], { stdio: 'ignore' });
    return { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const TRANSPORTS: ReadonlyArray<[string, WebhookOptions['allowPrivateAddresses']]> = [
  ['fetch', true],
  ['guarded', ['localhost']],
];

describe.skipIf(!hasOpenssl).each(TRANSPORTS)(
  'https, with %s (needs openssl)',
  (_, allowPrivateAddresses) => {
    let server: Server;
    const names: unknown[] = [];

    beforeAll(async () => {
      server = createServer(certificate(), ({ socket }, response) => {
        names.push((socket as TLSSocket).servername);
        response.writeHead(204).end();
      });
      server.listen(0, 'localhost');
      await once(server, 'listening');
    });
    beforeEach(() => void names.splice(0));
    afterEach(() => void vi.unstubAllEnvs());
    afterAll(async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    });

    const url = (): string => `https://localhost:${(server.address() as AddressInfo).port}/`;

    test('a certificate that can not be trusted is an outage: nothing is sent, no row is to blame', async () => {
      const error = await failureOf(publisherOf({ url, allowPrivateAddresses }));
      expect(error).toMatchObject({ name: 'UnavailableError', cause: expect.any(Error) });
      expect(absenceOf(error)).toBeDefined();
      expect(names).toEqual([]);
    });

    test('rows arrive, and the receiver is asked for by its name', async () => {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
      await publish(publisherOf({ url, allowPrivateAddresses }));
      expect(names).toEqual(['localhost']);
    });
  },
);
