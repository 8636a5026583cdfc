// Requests of the load, each with its bound, and what became of each written down.

import { NO_ANSWER, send } from '../../tools/http.js';

/** The 10 s for a backend that does not answer (docs/http-api.md, "Limits"), and what a busy machine needs. */
const BOUND_MS = 15_000;

type Method = 'GET' | 'POST';

export interface Asked {
  readonly method: Method;
  readonly what: string;
  /** The status; `cut`: the connection ended without an answer; `hung`: neither came in time. */
  readonly end: number | 'cut' | 'hung';
  readonly text: string;
}

export class Requests {
  readonly #port: number;
  #asked: Asked[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** Never rejects. */
  async ask(method: Method, path: string, body?: object): Promise<Asked> {
    const what = `${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`;
    const json = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const { end, text } = await send(this.#port, { method, path, ...json, deadlineMs: BOUND_MS }).then(
      ({ status, text }) => ({ end: status, text }),
      (error: Error) => ({ end: error.message.endsWith(NO_ANSWER) ? 'hung' : 'cut', text: '' }) as const,
    );
    const asked = { method, what, end, text };
    this.#asked.push(asked);
    return asked;
  }

  /** The requests since the last call of this. */
  taken(): readonly Asked[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }
}
