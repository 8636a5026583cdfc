// What an exchange is answered with, and the status lines it can have. Data only.

export type HeaderPair = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  /** Absent: no content at all (204, 304); an empty string is a body of length 0. */
  readonly body?: string | Uint8Array;
  /** Ends the connection behind the answer. */
  readonly close?: boolean;
}

/** Code and reason, as uWebSockets.js wants them. */
const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  202: '202 Accepted',
  204: '204 No Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
};

export function statusLine(status: number): string {
  return STATUS_LINES[status] ?? `${status} Unknown`;
}

/** A mutation that the backend accepted. */
export const ACCEPTED: Reply = { status: 202, headers: [], body: '' };
