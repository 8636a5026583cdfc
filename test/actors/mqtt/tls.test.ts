// Tests the MQTT bridge's connection to a broker that requires TLS. A private certificate authority signs the
// broker's certificate.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { MqttSettings } from '../../../src/protocol/actor/settings.js';
import { type Broker, startBroker } from '../../broker/mosquitto.js';
import { type SimulatedNode, simulatedNode } from '../../broker/simulated-node.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { skipReason } from '../../tools/requirements.js';

/** Makes the authority's certificate `ca.pem`, and the broker's certificate `cert.pem` for 127.0.0.1. */
const MAKE_CERTIFICATES = `
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=House -days 2
openssl req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=broker
printf 'subjectAltName=IP:127.0.0.1' > names
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile names
`;

describe('a bridge to a TLS broker', { skip: skipReason({ programs: ['mosquitto', 'openssl'] }) }, () => {
  let broker: Broker;
  const folder = temporaryFolder({ after });
  before(async () => {
    execFileSync('sh', ['-euc', MAKE_CERTIFICATES], { cwd: folder, stdio: 'ignore' });
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    const files = { 'cert.pem': read('cert.pem'), 'key.pem': read('key.pem') };
    broker = await startBroker({ files, lines: ['certfile DIR/cert.pem', 'keyfile DIR/key.pem'] });
  });
  after(() => broker.stop());

  function nodeWith(t: TestContext, settings: Partial<MqttSettings>, host = '127.0.0.1'): SimulatedNode {
    return simulatedNode(t, { url: `mqtts://${host}:${broker.port}`, settings });
  }

  test('is up if the authority in mqtt.caFile has signed the certificate', async (t) => {
    await nodeWith(t, { caFile: join(folder, 'ca.pem') }).up();
  });

  for (const [condition, caFile, host, reason] of [
    ['no authority of the system has signed the certificate', undefined, '127.0.0.1', /certificate/],
    ['the certificate is for another host', 'ca.pem', 'localhost', /does not match certificate/],
    ['mqtt.caFile cannot be read', 'no.pem', '127.0.0.1', /mqtt\.caFile: .*no\.pem: it does not exist/],
  ] as const) {
    test(`is not connected, and reports the reason, if ${condition}`, async (t) => {
      const settings = caFile === undefined ? {} : { caFile: join(folder, caFile) };
      await nodeWith(t, settings, host).connecting(reason);
    });
  }

  test('is not connected, and reports a reason, if mqtt.url begins with `mqtt:` instead of `mqtts:`', async (t) => {
    await simulatedNode(t, { url: broker.url }).connecting(/./);
  });
});
