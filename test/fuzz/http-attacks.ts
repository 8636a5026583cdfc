// Requests that no client should send. Some are requests of the OpenAPI document with changes. Others hide a
// second request: one parser finds it, and another parser takes it for a part of the first request. The
// hidden request is a command that no test sends openly. So its effect would show that the node has read it.

import type { OpenApi } from '../gateway/openapi-conformance.js';
import type { SeededRandom } from '../seeded-random.js';
import { damage } from './damaging-proxy.js';

/** This request is only sent hidden within another request. */
const HIDDEN = 'POST /power/reboot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** The pieces that one connection sends, each by one write. */
export type Pieces = readonly string[];

export interface Route {
  readonly method: string;
  readonly path: string;
}

/** The routes of an OpenAPI document, without those that end the machine. */
export function routesOf(document: unknown): Route[] {
  const routes = Object.entries((document as OpenApi).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );
  return routes.filter(({ path }) => !/^\/power\/./.test(path));
}

const SEGMENTS = [
  ...'living 0 1 4294967296 user system player.service one start page.js %2F %2e%2e .. %00'.split(' '),
  ...'% %zz %C3%28 %ff %F0%9F%8E%B5 + ~ @DEFAULT_SINK@ __proto__'.split(' '),
  'a'.repeat(3000),
  '%61'.repeat(400),
];
const BODIES = [
  ...'{"volume": 0.5} | {"muted": true} | {"delta": -0.1} | {"output": "kitchen"}'.split(' | '),
  ...'{"balance": 0} | {"port": "x"} | {"position": 1} | {"volume": 1e999} | {"volume": -0}'.split(' | '),
  ...'{"volume": "1"} | {"volume": null} | {"__proto__": {"volume": 1}} | [] | null | 0'.split(' | '),
  ...'{"volume": 0.5, "delta": 0.1} | {"volume":0.5}} | {"volume": 0.5,} | \xef\xbb\xbf{} | { | "'.split(
    ' | ',
  ),
  ...'{"muted": false, "muted": true} | {"output": "\\ud800"} | \0'.split(' | '),
  '',
  '['.repeat(5000),
  `{"output": "${'x'.repeat(60_000)}"}`,
  'x'.repeat(70_000),
];
/** The spaces at the beginning stand for three empty queries. */
const QUERIES = `   ?${'q'.repeat(2000)} ? ?a=b ?% ?types=%00 #x ?a=%0d%0aX:%20y`.split(' ');
const METHODS = ['PUT', 'HEAD', 'OPTIONS', 'get', 'X'.repeat(50), ''];
const VERSIONS = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.1 x', 'http/1.1', ''];
/** The line ` X: folded` begins with a space: in old versions of HTTP it continues the header above it. */
const HEADERS = [
  ...'Accept: */* | Origin: null | Origin: http://127.0.0.1 | Sec-Fetch-Site: cross-site'.split(' | '),
  ...'If-None-Match: * | If-None-Match: W/" | Expect: 100-continue | Connection: close'.split(' | '),
  ...'Connection: upgrade | Upgrade: websocket | Last-Event-ID: x | Content-Type: text/plain'.split(' | '),
  ...'Range: bytes=0- | X: \u0001 | X: |  X: folded | : z | X | X : y | X: \u00ff'.split(' | '),
  ...'Host: evil.example | Content-Encoding: gzip | Sec-WebSocket-Key: x | Cookie: a=b; c'.split(' | '),
  ...'Sec-WebSocket-Version: 13 | X-HTTP-Method-Override: POST | Forwarded: for=1 | Trailer: X'.split(' | '),
  `X: ${'y'.repeat(9000)}`,
];

/** More headers than uWebSockets.js takes (docs/development/bounds.md). */
const TOO_MANY_HEADERS = 150;

function pathOf(route: Route, random: SeededRandom): string {
  const path = route.path.replace(/\{\w+\}/g, () => random.pick(SEGMENTS));
  // The path begins with a slash already, so this makes two.
  const spelling = random.chance(0.1) ? `/${path}/` : path;
  return spelling + random.pick(QUERIES);
}

/** The text in pieces, cut at random places. */
function cutAtRandom(text: string, random: SeededRandom): string[] {
  if (random.chance(0.5)) return [text];
  const place = random.below(text.length + 1);
  return [text.slice(0, place), ...cutAtRandom(text.slice(place), random)];
}

function randomRequest(routes: readonly Route[], random: SeededRandom): string {
  const route = random.pick(routes);
  const method = random.chance(0.9) ? route.method : random.pick(METHODS);
  const version = random.chance(0.95) ? 'HTTP/1.1' : random.pick(VERSIONS);
  const headerCount = random.chance(0.03) ? TOO_MANY_HEADERS : random.below(4);
  const moreHeaders = Array.from({ length: headerCount }, () => random.pick(HEADERS));
  const body = route.method === 'POST' && random.chance(0.8) ? random.pick(BODIES) : '';
  const contentType = body === '' ? [] : ['Content-Type: application/json'];
  const bodyBytes = Buffer.byteLength(body, 'latin1');
  const oneChunk = `${bodyBytes.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const isChunked = body !== '' && random.chance(0.2);
  const sizeHeader = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bodyBytes}`;
  const framing = body === '' ? [] : [sizeHeader];
  const host = random.chance(0.95) ? ['Host: 127.0.0.1'] : [];
  const requestLine = `${method} ${pathOf(route, random)} ${version}`;
  const head = [requestLine, ...host, ...contentType, ...framing, ...moreHeaders];
  return `${head.join('\r\n')}\r\n\r\n${isChunked ? oneChunk : body}`;
}

const INSERTED_PIECES = [
  '\r',
  '\n',
  '\0',
  ' ',
  ':',
  '\t',
  '\r\n\r\n',
  '\u00e9',
  '0',
  'Content-Length: 5\r\n',
];

/**
 * The text with one more piece that has a meaning in HTTP, or with bytes that are lost, doubled or changed.
 */
function damagedRequest(text: string, random: SeededRandom): string {
  const place = random.below(text.length + 1);
  if (random.chance(0.5)) return text.slice(0, place) + random.pick(INSERTED_PIECES) + text.slice(place);
  return damage(Buffer.from(text, 'latin1'), random).toString('latin1');
}

const HIDDEN_BYTES = HIDDEN.length;
/**
 * Headers that do not say clearly where the body ends. The node must refuse such a request, and read nothing
 * after it. Some headers have a space before the name or before the colon on purpose.
 */
const UNCLEAR_FRAMINGS = [
  ...'Content-Length: 0, 5 | Content-Length: +0 | Content-Length: -1 | Content-Length: 0x0'.split(' | '),
  ...'Content-Length: 1e0 | Content-Length: 18446744073709551616 | Content-Length:'.split(' | '),
  ...'Content-Length: 99999999999999999999 | Content-Length : 0 |  Content-Length: 0'.split(' | '),
  ...'Transfer-Encoding: gzip, chunked | Transfer-Encoding: chunked, identity'.split(' | '),
  ...'Transfer-Encoding: xchunked | Transfer-Encoding: identity | Transfer-Encoding : chunked'.split(' | '),
  ...'Transfer-Encoding: "chunked" | Transfer-Encoding: chunked\u000b'.split(' | '),
  'Content-Length: 0\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 4',
  `Content-Length: 0\r\nContent-Length: ${HIDDEN_BYTES}`,
  `Content-Length: ${HIDDEN_BYTES}\r\nContent-Length: 0`,
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
  'X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 0',
];
/**
 * Malformed sizes of a chunk. Two others are missing: an empty size, and a size after a space.
 * uWebSockets.js reads them as 0, the size of the last chunk, so it also reads the hidden request. This does
 * no harm: no proxy passes such a size on, and a client without a proxy can send the hidden request openly.
 */
const MALFORMED_SIZES = [
  ...'0x0 -0 +0 00000000000000000000001 fffffffffffffffff g 1_0 10000000000000000'.split(' '),
  // The line of this size ends too early, at a line feed without a carriage return.
  '0;\n',
];
/** Each is the end of a request: framing headers and a body. Another request is in or behind the body. */
const HIDING_FRAMINGS: readonly string[] = [
  // In the first three, the body itself is the hidden request.
  `Content-Length: ${HIDDEN_BYTES}\r\n\r\n${HIDDEN}`,
  `Transfer-Encoding: chunked\r\n\r\n${HIDDEN_BYTES.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n3C;x=y\r\n${HIDDEN.padEnd(0x3c)}\r\n0\r\n\r\n`,
  // `0\r\n\r\n` is an empty body in chunks. A parser that expects chunks reads the hidden request next.
  ...UNCLEAR_FRAMINGS.map((framing) => `${framing}\r\n\r\n0\r\n\r\n${HIDDEN}`),
  ...MALFORMED_SIZES.map((size) => `Transfer-Encoding: chunked\r\n\r\n${size}\r\n${HIDDEN}`),
];

/** A request that hides another one. Its route, its framing and its other headers are chosen at random. */
function requestHidingAnother(routes: readonly Route[], random: SeededRandom): string {
  const posts = routes.filter(({ method }) => method === 'POST');
  const framing = random.pick(HIDING_FRAMINGS);
  const host = random.pick(['Host: 127.0.0.1\r\n', 'Host: 127.0.0.1\r\nAccept: */*\r\n']);
  const contentType = random.chance(0.5) ? 'Content-Type: application/json\r\n' : '';
  const path = random.pick(posts).path.replace(/\{\w+\}/g, '1');
  return `POST ${path} HTTP/1.1\r\n${host}${contentType}${framing}`;
}

export function randomAttack(routes: readonly Route[], random: SeededRandom): Pieces {
  const outOfTen = random.below(10);
  if (outOfTen < 3) return cutAtRandom(requestHidingAnother(routes, random), random);
  if (outOfTen < 6) return cutAtRandom(damagedRequest(randomRequest(routes, random), random), random);
  const requests = Array.from({ length: 1 + random.below(4) }, () => randomRequest(routes, random));
  return cutAtRandom(requests.join(''), random);
}
