// Defines what a reply is, and makes the responses that are cached for all clients. Pure.

/** Every status that is sent. uWebSockets.js takes the status and its reason as one text. */
export const STATUS_LINES = {
  200: '200 OK',
  202: '202 Accepted',
  204: '204 No Content',
  304: '304 Not Modified',
  307: '307 Temporary Redirect',
  308: '308 Permanent Redirect',
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
} as const;

export type HeaderPair = readonly [name: string, value: string];
export type HeaderPairs = readonly HeaderPair[];

/**
 * uWebSockets.js closes a connection 8 to 12 s after the last answer on it. With this header, clients do not
 * reuse a connection after 8 s. Otherwise a `POST` is lost if the connection closes at the same moment.
 */
export const KEEP_ALIVE: HeaderPair = ['Keep-Alive', 'timeout=8'];

export interface HttpReply {
  readonly status: keyof typeof STATUS_LINES;
  readonly headers: HeaderPairs;
  /** Absent if there is no content at all, as for 204 and 304. An empty string is a body of length 0. */
  readonly body?: string | Uint8Array;
  /** True if the connection is closed after the reply. */
  readonly closesConnection?: boolean;
}

export const ACCEPTED: HttpReply = { status: 202, headers: [], body: '' };

/**
 * The 200 and the 304 reply for one JSON text. They are made once per change of the text, so that polling
 * costs only the sending.
 */
export interface CachedResponse {
  /** Strong: equal tags mean equal bytes. */
  readonly etag: string;
  readonly whole: HttpReply & { readonly body: Buffer };
  /** The 304 reply, for a client that already has this text. */
  readonly unchanged: HttpReply;
}

export const JSON_TYPE: HeaderPair = ['Content-Type', 'application/json'];

export const METRICS_TYPE: HeaderPair = [
  'Content-Type',
  'application/openmetrics-text; version=1.0.0; charset=utf-8',
];

export const NO_STORE: HeaderPair = ['Cache-Control', 'no-store'];

/** Clients may keep the reply, but must revalidate it at each use. */
export const REVALIDATE: HeaderPair = ['Cache-Control', 'no-cache'];

/** No two responses have the same tag, even after a restart of the process. */
export class ResponseMaker {
  readonly #bootId: string;
  #revision = 0;

  /** `bootId` differs for each start of the process, and is safe in a quoted tag. */
  constructor(bootId: string) {
    this.#bootId = bootId;
  }

  /** `changedAt` is milliseconds since the epoch. */
  make(text: string, changedAt: number): CachedResponse {
    this.#revision += 1;
    const etag = `"${this.#bootId}-${this.#revision}"`;
    const cacheHeaders: HeaderPairs = [
      ['ETag', etag],
      ['X-Cache-Updated-At', new Date(changedAt).toISOString()],
      REVALIDATE,
    ];
    const headers: HeaderPairs = [JSON_TYPE, ...cacheHeaders];
    return {
      etag,
      whole: { status: 200, headers, body: Buffer.from(text) },
      unchanged: { status: 304, headers: cacheHeaders },
    };
  }

  /** Returns `before` if it has this text. */
  makeIfChanged(before: CachedResponse | undefined, text: string, changedAt: number): CachedResponse {
    return before?.whole.body.toString() === text ? before : this.make(text, changedAt);
  }
}

/** The reply to a GET. `ifNoneMatch` is the text of the header `If-None-Match`, '' when absent. */
export function replyFor(cached: CachedResponse, ifNoneMatch: string): HttpReply {
  return ifNoneMatch !== '' && isMatch(ifNoneMatch, cached.etag) ? cached.unchanged : cached.whole;
}

/** The sound server's cookie as a file to save. It is no HTTP cookie. */
export function cookieReply(bytes: Uint8Array): HttpReply {
  const type: HeaderPair = ['Content-Type', 'application/octet-stream'];
  const name: HeaderPair = ['Content-Disposition', 'attachment; filename="cookie"'];
  return { status: 200, headers: [type, name, NO_STORE], body: bytes };
}

/**
 * True if the header `If-None-Match` is `*`, or contains this tag, as `W/"a-1", "a-2"` contains `"a-1"`. The
 * prefix `W/` is ignored (RFC 9110, section 13.1.2), because a cache between client and node may have added
 * it.
 */
export function isMatch(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  const tags = ifNoneMatch.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => tag.replace(/^W\//, '') === etag);
}

/**
 * Reads the header `Accept` or `Accept-Encoding`, such as `br, gzip;q=0.5`. Returns the weight of each type
 * or encoding, by its name in lower case. The weight 0 means "not accepted" (RFC 9110, section 12.4.2).
 */
export function weightsIn(accept: string): ReadonlyMap<string, number> {
  const items = accept.toLowerCase().split(',');
  return new Map(
    items.map((item) => {
      const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)];
    }),
  );
}

/**
 * uWebSockets.js does not check header values, so a line break would start another header. NUL is invalid in
 * a value, too (RFC 9110, section 5.5).
 */
export function oneLine(value: string): string {
  return /[\r\n\0]/.test(value) ? value.replace(/[\r\n\0]+/g, ' ') : value;
}
