// Serves the page (docs/http-api.md, "The page"): the built and compressed files, with headers for caching,
// content security and framing. The files are read once; this file does not know their content.

import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Exchange } from './exchange.js';
import { fileForNode } from './node-icon.js';
import { problem, problemReply } from './problem.js';
import { type HeaderPair, type HttpReply, isMatch, REVALIDATE, weightsIn } from './reply.js';
import { foreignOrigin, type OriginStanding } from './trust.js';

/** One file in each encoding that exists; `identity` always does. */
export interface PageFile {
  readonly identity: Buffer;
  readonly gzip?: Buffer;
  readonly br?: Buffer;
}

/** By name. The document is `index.html`; every other name contains a hash of the file's content. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** `way`: the path `/`, which redirects to the document. */
export type PagePart = 'document' | 'file' | 'way';

const DOCUMENT = 'index.html';

const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/** The content types of all files, as OpenAPI writes them. */
export const FILE_CONTENT = Object.fromEntries(Object.values(TYPES).map((type) => [type, {}]));

const ALWAYS: HttpReply['headers'] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Vary', 'Accept-Encoding'],
];
/** Clients may keep such a file for ever, because its name changes with its content. */
const FOR_EVER: HeaderPair = ['Cache-Control', 'public, max-age=31536000, immutable'];

/** @throws if the folder cannot be read; the build always makes it. */
export function readPageFiles(folder: string): PageFiles {
  const names = readdirSync(folder).sort();
  const bytes = (name: string): Buffer => readFileSync(join(folder, name));
  const plain = names.filter((name) => ENCODINGS.every(([, ending]) => !name.endsWith(ending)));
  return new Map(
    plain.map((name) => {
      const available = ENCODINGS.filter(([, ending]) => names.includes(name + ending));
      const encoded = Object.fromEntries(available.map(([coding, ending]) => [coding, bytes(name + ending)]));
      return [name, { identity: bytes(name), ...encoded }];
    }),
  );
}

/** The origins of other nodes that this node's page may speak to. */
export interface House {
  readonly origins: readonly string[];
  /** A number that differs after each change. */
  readonly order: number;
}

interface PageParts {
  readonly files: PageFiles;
  /** `api.cors.origins`, already checked; `*` allows every origin. */
  readonly origins: readonly string[];
  /**
   * Differs for each start, and is part of the tags. To make a tag from a hash would load Node's
   * cryptography at each start, which takes 7 ms of CPU (docs/development/what-we-learnt.md, "Node and V8").
   */
  readonly bootId: string;
  /** The node's name, as it is now. */
  readonly hostname: () => string;
  readonly house: () => House;
}

export class Page {
  readonly #parts: PageParts;
  /** The sites that may frame the page. */
  readonly #ancestors: string;

  constructor(parts: PageParts) {
    this.#parts = parts;
    this.#ancestors = parts.origins.includes('*') ? '*' : ["'self'", ...parts.origins].join(' ');
  }

  reply(
    request: Pick<Exchange, 'header' | 'path' | 'query'>,
    standing: OriginStanding,
    part: PagePart,
    name = DOCUMENT,
  ): HttpReply {
    // Browsers load a page without an Origin header. An origin that may not use the interface does not get
    // the page either.
    if (standing === 'foreign') return problemReply(foreignOrigin(request.header('origin')));
    if (part === 'way') return redirectTo('ui', request.query());
    // At `/ui/` the relative addresses in the document would be wrong.
    if (part === 'document' && request.path.endsWith('/')) return redirectTo('../ui', request.query());
    const file = part === 'file' && name === DOCUMENT ? undefined : this.#parts.files.get(name);
    if (file === undefined) return problemReply(problem('not-found', 'The page has no such file'));
    const nodesOwn = this.#nodesOwnFile(name, file, request.header('if-none-match'));
    if (nodesOwn !== undefined) return nodesOwn;
    const [coding, body] = encodingOf(file, request.header('accept-encoding'));
    if (part === 'file')
      return { status: 200, headers: [...ALWAYS, FOR_EVER, ...contentHeaders(name, coding)], body };
    return this.#document(coding, body, request.header('if-none-match'));
  }

  /**
   * Each encoding has its own tag, because a strong tag means the same bytes (RFC 9110, section 8.8.1). Each
   * policy has its own tag, too, because after a 304 WebKit keeps the policy of the stored document.
   */
  #document(coding: string, body: Buffer, ifNoneMatch: string): HttpReply {
    const { bootId, house } = this.#parts;
    const { origins, order } = house();
    const etag = `"${bootId}-${order.toString(36)}-${coding}"`;
    const policy: HeaderPair = ['Content-Security-Policy', securityPolicy(origins, this.#ancestors)];
    const headers: HttpReply['headers'] = [...ALWAYS, REVALIDATE, policy, ['ETag', etag]];
    if (isMatch(ifNoneMatch, etag)) return { status: 304, headers };
    return { status: 200, headers: [...headers, ...contentHeaders(DOCUMENT, coding)], body };
  }

  /**
   * The reply with a file that is made for this node; undefined for a file that all nodes share. The node's
   * own file changes with the node's name, so clients must revalidate it.
   */
  #nodesOwnFile(name: string, file: PageFile, ifNoneMatch: string): HttpReply | undefined {
    const node = this.#parts.hostname();
    const body = fileForNode(name, file.identity, node);
    if (body === undefined) return undefined;
    const etag = `"${this.#parts.bootId}-${encodeURIComponent(node)}"`;
    const headers: HttpReply['headers'] = [...ALWAYS, REVALIDATE, ['ETag', etag]];
    if (isMatch(ifNoneMatch, etag)) return { status: 304, headers };
    return { status: 200, headers: [...headers, ...contentHeaders(name, 'identity')], body };
  }
}

/**
 * The redirect is permanent, because the page will not move, and relative, because a proxy may serve the
 * page below a path of its own.
 */
function redirectTo(path: string, query: string): HttpReply {
  const location = query === '' ? path : `${path}?${query}`;
  return { status: 308, headers: [['Location', location]], body: '' };
}

/**
 * The page runs only its own script and style, connects only to its own node and the other nodes of the
 * house, and never runs text as script. Only `frame-ancestors` decides which sites may frame the page:
 * browsers that know this directive ignore X-Frame-Options, which cannot name an origin.
 */
function securityPolicy(house: readonly string[], ancestors: string): string {
  const nodes = ["'self'", ...house].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "manifest-src 'self'",
    `img-src ${nodes}`,
    `connect-src ${nodes}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${ancestors}`,
  ].join('; ');
}

function contentHeaders(name: string, coding: string): HttpReply['headers'] {
  const type: HeaderPair = ['Content-Type', TYPES[extname(name)] ?? 'application/octet-stream'];
  return coding === 'identity' ? [type] : [type, ['Content-Encoding', coding]];
}

/** The best encoding that the client accepts. */
function encodingOf(file: PageFile, acceptEncoding: string): readonly [coding: string, body: Buffer] {
  const weights = weightsIn(acceptEncoding);
  for (const [coding] of ENCODINGS) {
    const body = file[coding];
    if (body !== undefined && (weights.get(coding) ?? 0) > 0) return [coding, body];
  }
  return ['identity', file.identity];
}
