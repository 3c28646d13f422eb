import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

export const hasOpenssl: boolean = spawnSync('openssl', ['version']).status === 0;

/** A certificate for 127.0.0.1 that nobody has signed. */
export function createCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'kafka-tls-'));
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=kafka', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  try {
    execFileSync('openssl', ['req', ...kind, ...files, ...subject], { stdio: 'ignore' });
    return { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
