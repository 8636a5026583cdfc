// Why an address cannot be listened on: uWebSockets.js reports only that listening failed.

import { createServer } from 'node:net';
import { errorText } from '../printable.js';

/**
 * The kernel's error code, such as `EADDRINUSE`; undefined if listening works now. Leaves no socket open, and
 * never rejects.
 */
export function listenError(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? errorText(error)));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
