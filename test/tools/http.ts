// Sends one HTTP request to this machine on a connection of its own, and reads the whole answer.

import { type IncomingHttpHeaders, request } from 'node:http';

/** Twice the time of the slowest answer (10 s: docs/http-api.md, "Limits"). */
const DEADLINE_MS = 20_000;

/** If no answer comes in time, `send` rejects with an error whose message ends with this text. */
export const NO_ANSWER = ': no answer';

export interface HttpRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The longest silence before the answer or within it; 20 s by default. */
  readonly deadlineMs?: number;
  /** An address of this machine; 127.0.0.1 by default. */
  readonly host?: string;
  /** True if `send` does not read the body of the answer. Such a body may be an endless stream. */
  readonly isHeadOnly?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * `target` is a port of this machine, or the path of a unix socket.
 * @throws {Error} when there is no answer in time.
 */
export function send(
  target: number | string,
  {
    method = 'GET',
    path,
    headers = {},
    body,
    deadlineMs = DEADLINE_MS,
    host = '127.0.0.1',
    isHeadOnly = false,
  }: HttpRequest,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const address = typeof target === 'number' ? { host, port: target } : { socketPath: target };
    const outgoing = request({ ...address, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      const answer = (): void => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
        incoming.destroy();
      };
      if (isHeadOnly) return answer();
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', answer);
    });
    outgoing.setTimeout(deadlineMs, () => outgoing.destroy(new Error(`${method} ${path}${NO_ANSWER}`)));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
