// Reads the body of an HTTP response, up to a maximum size. The daemon itself has sent the request.

import type { IncomingMessage } from 'node:http';
import { failed, type Result, success } from '../protocol/actor/result.js';

/** The whole body, or `too large`. Rejects if the connection fails, even in the middle of the body. */
export async function bodyWithin(
  response: IncomingMessage,
  maxBytes: number,
): Promise<Result<Buffer, 'too large'>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    // A return from this loop also destroys the connection, so the rest of the body is not received.
    if (size > maxBytes) return failed('too large');
    chunks.push(chunk);
  }
  return success(Buffer.concat(chunks));
}
