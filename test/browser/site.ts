// A web site on loopback that does not belong to the node: another origin for pages that make requests to it.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Site {
  readonly origin: string;
  close(): void;
}

/** `answer` returns the content for a path: a script if the path ends with .js, otherwise a document. */
export async function serveSite(answer: (path: string) => string): Promise<Site> {
  const server = createServer(({ url = '/' }, response) => {
    response.setHeader('Content-Type', url.endsWith('.js') ? 'text/javascript' : 'text/html');
    response.end(answer(url));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
