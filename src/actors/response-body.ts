// Reads the body of an answer to one of the node's own HTTP requests, up to a size.

import type { IncomingMessage } from 'node:http';

/** The whole body; empty if it is larger than `maxBytes` or was cut off. Rejects if the connection fails. */
export async function bodyWithin(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return Buffer.alloc(0);
    chunks.push(chunk);
  }
  return response.complete ? Buffer.concat(chunks) : Buffer.alloc(0);
}
