// Makes a `fetch` with scripted answers for tests. A real node cannot be made to fall silent, to break off at
// any byte, or to send nonsense.

import { setImmediate as turn } from 'node:timers/promises';

/** A stream of `/events`, and its request. */
export interface RequestedStream {
  readonly url: URL;
  readonly lastEventId: string | undefined;
  readonly accept: string | undefined;
  readonly headers: Headers;
  /** Sends text, and waits until the client has read it. */
  send(text: string): Promise<void>;
  /** Sends an event. If `id` is '', the event has no id. */
  event(id: string, type: string, data: unknown): Promise<void>;
  end(): Promise<void>;
  /** True if the client has aborted the request. */
  readonly aborted: boolean;
}

export interface ScriptedNode {
  readonly fetch: typeof globalThis.fetch;
  /** The streams that the node has opened, in order. A refused request has no stream. */
  readonly streams: readonly RequestedStream[];
  /** Each of the next requests for a stream gets one of these responses instead of a stream. */
  readonly refusals: Response[];
  /** The headers of the next streams. */
  readonly streamHeaders: Headers;
  /**
   * For each path except `/events`, the function that makes the answer. The function returns a record, a
   * whole response, or a promise of one. A path without a function gets 404.
   */
  readonly answers: Map<string, () => unknown>;
  /** The paths of all requests except those for `/events`, in order. */
  readonly requests: string[];
}

/** Waits until everything that needs no timer has been done. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await turn();
}

export function scriptedNode(): ScriptedNode {
  const streams: RequestedStream[] = [];
  const refusals: Response[] = [];
  const streamHeaders = new Headers({ 'Content-Type': 'text/event-stream' });
  const answers = new Map<string, () => unknown>();
  const requests: string[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(String(input));
    if (url.pathname !== '/events') {
      requests.push(url.pathname);
      const answer = answers.get(url.pathname);
      const content = answer === undefined ? new Response('', { status: 404 }) : await answer();
      return content instanceof Response ? content : Response.json(content);
    }
    const refusal = refusals.shift();
    if (refusal !== undefined) return refusal;
    const { stream, body } = openStream(url, init);
    streams.push(stream);
    return new Response(body, { headers: streamHeaders });
  };
  return { fetch: fetch as typeof globalThis.fetch, streams, refusals, streamHeaders, answers, requests };
}

function openStream(
  url: URL,
  { signal, headers }: RequestInit,
): { stream: RequestedStream; body: ReadableStream } {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (bodyController) => {
      controller = bodyController;
      signal?.addEventListener('abort', () => bodyController.error(signal.reason));
    },
  });
  const send = async (text: string): Promise<void> => {
    controller?.enqueue(Buffer.from(text));
    await settle();
  };
  const stream: RequestedStream = {
    url,
    lastEventId: new Headers(headers).get('Last-Event-ID') ?? undefined,
    headers: new Headers(headers),
    accept: new Headers(headers).get('Accept') ?? undefined,
    send,
    event: (id, type, data) =>
      send(`${id === '' ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`),
    end: async () => {
      controller?.close();
      await settle();
    },
    get aborted() {
      return signal?.aborted === true;
    },
  };
  return { stream, body };
}
