import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type KafkaPublisherOptions, kafkaPublisher } from '../src/index.js';
import { createCertificate, hasOpenssl } from './certificate.js';
import { KafkaGate } from './kafka-gate.js';
import { describeOnMock } from './mock-cluster.js';
import { publish, reasonOf, rowOf, statusesOf } from './rows.js';
import { SaslGuard } from './sasl-guard.js';

describeOnMock('TLS (needs openssl)', 1, (cluster) => {
  beforeEach(({ skip }) => skip(!hasOpenssl, 'openssl is not installed'));

  async function publishWith(tls: KafkaPublisherOptions['tls'], certificate = createCertificate()) {
    const guard = new SaslGuard('correct-horse');
    const gate = await KafkaGate.open(cluster.brokers[0], guard, certificate);
    const { host, port } = gate.address;
    const sasl = { mechanism: 'PLAIN', username: 'app', password: 'correct-horse' } as const;
    const publisher = kafkaPublisher({
      brokers: [`${host}:${port}`],
      sasl,
      timeoutMs: 2_000,
      ...(tls && { tls }),
    });
    onTestFinished(async () => {
      await publisher.stop?.({ graceMs: 0 });
      await gate.close();
    });
    return publish(publisher, [rowOf('tls')]);
  }

  it('publishes to a broker whose certificate is known', async () => {
    const certificate = createCertificate();
    expect(statusesOf(await publishWith({ ca: certificate.cert }, certificate))).toEqual(['stored']);
  });

  it.each([
    ['a certificate that is not known', {}],
    ['a broker that wants TLS', undefined],
  ])('%s is an outage: the row is not to blame', async (_, tls) => {
    const [result] = await publishWith(tls);
    expect(reasonOf(result)).toMatchObject({ unavailable: true, cause: expect.anything() });
  });
});
