// Starts a front: an HTTPS server that passes each request on to an HTTP server, as a reverse proxy does.
// The front signs its certificate itself.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.js';

/**
 * Starts the front. `host` and `port` are those of the HTTP server. The front has the same address, and a
 * port of its own.
 */
export async function startHttpsFront(host: string, port: number) {
  const folder = temporaryFolder();
  const keyFile = join(folder, 'key');
  const certFile = join(folder, 'cert');
  const files = ['-keyout', keyFile, '-out', certFile, '-subj', `/CN=${host}`];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files], { stdio: 'pipe' });
  const tls = { key: readFileSync(keyFile), cert: readFileSync(certFile) };
  const server = createServer(tls, (incoming, outgoing) => {
    const { url: path, method, headers } = incoming;
    const inner = request({ host, port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    inner.on('error', () => outgoing.destroy());
    outgoing.on('close', () => inner.destroy());
    incoming.pipe(inner);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `https://${host}:${(server.address() as AddressInfo).port}`, close };
}
