// Why an address cannot be listened on: uWebSockets.js only says that it cannot. Asks the kernel, by trying once more.

import { createServer } from 'node:net';

/** The kernel's word, such as `EADDRINUSE`; undefined: by now it could be. Takes nothing, and never rejects. */
export function whyRefused(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
