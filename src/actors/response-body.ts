// Reads the body of an answer to one of the node's own HTTP requests, up to a size.

import type { IncomingMessage } from 'node:http';
import { failed, type Result, success } from '../protocol/actor/result.js';

/** The whole body. Rejects if the connection fails, also in the middle of the body. */
export async function bodyWithin(
  response: IncomingMessage,
  maxBytes: number,
): Promise<Result<Buffer, 'too large'>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return failed('too large');
    chunks.push(chunk);
  }
  return success(Buffer.concat(chunks));
}
