// Requests of the load, each with its bound, and what became of each written down.

import { request } from 'node:http';

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
    const asked = { method, what, ...(await this.#send(method, path, body)) };
    this.#asked.push(asked);
    return asked;
  }

  /** The requests since the last call of this. */
  taken(): readonly Asked[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  #send(method: string, path: string, body?: object): Promise<Pick<Asked, 'end' | 'text'>> {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return new Promise((resolve) => {
      const outgoing = request({ port: this.#port, method, path, headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', () => response.destroy());
        response.on('close', () =>
          resolve({ end: response.complete ? (response.statusCode ?? 0) : 'cut', text }),
        );
      });
      const bound = setTimeout(() => {
        resolve({ end: 'hung', text: '' });
        outgoing.destroy();
      }, BOUND_MS);
      outgoing.on('error', () => resolve({ end: 'cut', text: '' }));
      outgoing.on('close', () => clearTimeout(bound));
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
