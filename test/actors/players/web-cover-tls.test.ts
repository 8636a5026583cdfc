// Tests covers that are fetched by https. The certificate of the server must be for the name in the URL, and
// a known authority must have signed the certificate. Node.js reads the authorities only when a process
// starts, so each test fetches the covers in a new process.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../temporary-folder.js';
import { testsNeeding } from '../../tools/requirements.js';

const test = testsNeeding({ programs: ['openssl'] });

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

const MAKE_CERTIFICATE = `
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=covers -days 2 \
  -addext subjectAltName=DNS:covers.example
`;

const MODULES = new URL('../../../src/', import.meta.url).href;

/**
 * The arguments of the program are URLs. The program prints a JSON list: for each URL the type of its cover,
 * or null if there is no cover. Every name leads to 127.0.0.1, which counts as public here.
 */
const FETCH_PROGRAM = `
import { systemClock } from '${MODULES}host/clock.js';
import { webCover } from '${MODULES}actors/players/web-cover.js';
const web = { isPublic: () => true, isAllowedPort: () => true, addressesOf: async () => ['127.0.0.1'] };
const covers = [];
for (const url of process.argv.slice(1)) covers.push((await webCover(url, systemClock, web))?.type ?? null);
process.stdout.write(JSON.stringify(covers));
`;

async function startSecureWeb(t: TestContext) {
  const folder = temporaryFolder(t);
  execFileSync('sh', ['-euc', MAKE_CERTIFICATE], { cwd: folder, stdio: 'ignore' });
  const key = readFileSync(join(folder, 'key.pem'));
  const cert = readFileSync(join(folder, 'cert.pem'));
  /** For each request, the server name (SNI) of its connection; null if the connection has none. */
  const serverNames: (string | null)[] = [];
  const server = createServer({ key, cert }, ({ socket, url }, response) => {
    const hasName = 'servername' in socket && typeof socket.servername === 'string';
    serverNames.push(hasName ? (socket.servername as string) : null);
    if (url === '/') response.end(PNG);
    else response.writeHead(302, { Location: '/' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  /** Resolves with the list that `FETCH_PROGRAM` prints. A place is a host and a path. */
  const fetchCovers = async (env: Readonly<Record<string, string>>, ...places: readonly string[]) => {
    const urls = places.map((place) => {
      const url = new URL(`https://${place}`);
      url.port = String(port);
      return url.href;
    });
    const args = ['--input-type=module', '--eval', FETCH_PROGRAM, '--', ...urls];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return JSON.parse(stdout) as unknown;
  };
  const trustingEnv = { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') };
  return { fetchCovers, serverNames, trustingEnv };
}

test('a cover is fetched by https from the address that was checked, but only if the certificate is for the name in the URL', async (t) => {
  const { fetchCovers, serverNames, trustingEnv } = await startSecureWeb(t);
  const places = ['covers.example/', 'covers.example/moved', 'other.example/', '127.0.0.1/'];
  const covers = await fetchCovers(trustingEnv, ...places);
  assert.deepEqual(covers, ['image/png', 'image/png', null, null]);
  // The first cover needs one request, and the moved one needs two.
  const expected = Array(3).fill('covers.example');
  assert.deepEqual(serverNames, expected, 'no request is sent if the certificate is for another name');
});

test('a cover is not fetched by https from a server without a trusted certificate', async (t) => {
  const { fetchCovers, serverNames } = await startSecureWeb(t);
  const envWithoutAuthority = {};
  assert.deepEqual(await fetchCovers(envWithoutAuthority, 'covers.example/'), [null]);
  assert.deepEqual(serverNames, []);
});
