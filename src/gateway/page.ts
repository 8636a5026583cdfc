// Serves the page (docs/http-api.md, "The page"). Decides how its files may be cached, what the page may
// load, and which sites may frame it.

import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Exchange } from './exchange.js';
import { fileForNode } from './node-icon.js';
import { problem, problemReply } from './problem.js';
import { type HeaderPair, type HttpReply, isMatch, REVALIDATE, weightsIn } from './reply.js';
import { foreignOrigin, type OriginStanding } from './trust.js';

/** One file, in each encoding that the build has made. */
export interface PageFile {
  readonly identity: Buffer;
  readonly gzip?: Buffer;
  readonly br?: Buffer;
}

/** By name. The document is `index.html`; every other name contains a hash of the file's content. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** `document` is the path `/ui`, `file` is a path `/ui/{file}`, and `redirect` is the path `/`. */
export type PagePart = 'document' | 'file' | 'redirect';

const DOCUMENT = 'index.html';

/** The first encoding of this list that the file has and the client accepts is used. */
const ENCODINGS = [
  { coding: 'br', ending: '.br' },
  { coding: 'gzip', ending: '.gz' },
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

const COMMON_HEADERS: HttpReply['headers'] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Vary', 'Accept-Encoding'],
];
/** Clients may keep a file for ever, because its name changes with its content. */
const KEEP_FOR_EVER: HeaderPair = ['Cache-Control', 'public, max-age=31536000, immutable'];

/** @throws if the folder cannot be read; the build always makes it. */
export function readPageFiles(folder: string): PageFiles {
  const names = readdirSync(folder).sort();
  const bytesOf = (name: string): Buffer => readFileSync(join(folder, name));
  const isCompressed = (name: string): boolean => ENCODINGS.some(({ ending }) => name.endsWith(ending));
  const uncompressed = names.filter((name) => !isCompressed(name));
  return new Map(
    uncompressed.map((name) => {
      const available = ENCODINGS.filter(({ ending }) => names.includes(name + ending));
      const compressed = available.map(({ coding, ending }) => [coding, bytesOf(name + ending)]);
      return [name, { identity: bytesOf(name), ...Object.fromEntries(compressed) }];
    }),
  );
}

/** The house is this node together with the other nodes that it knows. */
export interface HouseOrigins {
  /** This node's page may speak to these origins of other nodes, even if this node does not trust them. */
  readonly origins: readonly string[];
  /** This number is different after each change of `origins`. */
  readonly changeNumber: number;
}

interface PageParts {
  readonly files: PageFiles;
  /** `api.cors.origins`, already checked; `*` allows every origin. */
  readonly corsOrigins: readonly string[];
  /** The monotonic time since which `corsOrigins` applies, in milliseconds. */
  readonly configuredAt: number;
  /**
   * This text differs for each start of the service, and is part of the entity tags. A hash of the file could
   * be the tag instead, but to compute a hash, Node.js would load its cryptography, which takes 7 ms of CPU
   * (docs/development/what-we-learnt.md, "Node and V8").
   */
  readonly bootId: string;
  readonly hostname: () => string;
  readonly house: () => HouseOrigins;
}

export class Page {
  readonly #parts: PageParts;
  /** The sites that may frame the page. */
  readonly #frameAncestors: string;

  constructor(parts: PageParts) {
    this.#parts = parts;
    this.#frameAncestors = parts.corsOrigins.includes('*') ? '*' : ["'self'", ...parts.corsOrigins].join(' ');
  }

  reply(
    request: Pick<Exchange, 'header' | 'path' | 'query'>,
    standing: OriginStanding,
    part: PagePart,
    name = DOCUMENT,
  ): HttpReply {
    // A browser that opens a page sends no Origin header. So only requests by scripts of foreign pages are
    // refused here.
    if (standing === 'foreign') return problemReply(foreignOrigin(request.header('origin')));
    if (part === 'redirect') return redirectTo('ui', request.query());
    // The relative addresses in the document would be wrong at `/ui/`. So a request for `/ui/` is redirected
    // to `../ui`, and one for `/ui//` to `../../ui`.
    const slashCount = part === 'document' ? finalSlashCount(request.path) : 0;
    if (slashCount > 0) return redirectTo(`${'../'.repeat(slashCount)}ui`, request.query());
    // The document is not served as the file `/ui/index.html`, because clients may keep a file for ever.
    const isDocumentAsFile = part === 'file' && name === DOCUMENT;
    const file = isDocumentAsFile ? undefined : this.#parts.files.get(name);
    if (file === undefined) return problemReply(problem('not-found', 'The page has no such file'));
    const replyForNode = this.#replyForNode(name, file, request.header('if-none-match'));
    if (replyForNode !== undefined) return replyForNode;
    const [coding, body] = bestEncoding(file, request.header('accept-encoding'));
    if (part === 'file')
      return {
        status: 200,
        headers: [...COMMON_HEADERS, KEEP_FOR_EVER, ...contentHeaders(name, coding)],
        body,
      };
    return this.#documentReply(coding, body, request.header('if-none-match'));
  }

  /**
   * Each encoding has its own tag, because a strong tag means equal bytes (RFC 9110, section 8.8.1). Each
   * security policy has its own tag, because after a 304 WebKit keeps the policy of the stored document. A
   * reload of the configuration, and a change of the house, may change the policy.
   */
  #documentReply(coding: string, body: Buffer, ifNoneMatch: string): HttpReply {
    const { bootId, house, configuredAt } = this.#parts;
    const { origins, changeNumber } = house();
    const policyVersion = `${Math.floor(configuredAt).toString(36)}-${changeNumber.toString(36)}`;
    const etag = `"${bootId}-${policyVersion}-${coding}"`;
    const policy: HeaderPair = ['Content-Security-Policy', securityPolicy(origins, this.#frameAncestors)];
    const headers: HttpReply['headers'] = [...COMMON_HEADERS, REVALIDATE, policy, ['ETag', etag]];
    if (isMatch(ifNoneMatch, etag)) return { status: 304, headers };
    return { status: 200, headers: [...headers, ...contentHeaders(DOCUMENT, coding)], body };
  }

  /**
   * Undefined for a file that is the same on every node. The icons and the manifest depend on the node's name
   * (node-icon.ts). This name may change, so clients must revalidate these files.
   */
  #replyForNode(name: string, file: PageFile, ifNoneMatch: string): HttpReply | undefined {
    const hostname = this.#parts.hostname();
    const body = fileForNode(name, file.identity, hostname);
    if (body === undefined) return undefined;
    const etag = `"${this.#parts.bootId}-${encodeURIComponent(hostname)}"`;
    const headers: HttpReply['headers'] = [...COMMON_HEADERS, REVALIDATE, ['ETag', etag]];
    if (isMatch(ifNoneMatch, etag)) return { status: 304, headers };
    return { status: 200, headers: [...headers, ...contentHeaders(name, 'identity')], body };
  }
}

/** The number of slashes at the end. Browsers count each of several slashes as a folder of its own. */
function finalSlashCount(path: string): number {
  // `/ui//` has the segments '', 'ui', '' and '': two empty ones follow `ui`, one for each slash.
  const segments = path.split('/');
  return segments.length - 1 - segments.findLastIndex((segment) => segment !== '');
}

/**
 * The redirect is permanent, because the page will not move. It is relative, because a proxy may serve the
 * page below another path.
 */
function redirectTo(path: string, query: string): HttpReply {
  const location = query === '' ? path : `${path}?${query}`;
  return { status: 308, headers: [['Location', location]], body: '' };
}

/**
 * The page uses only its own script and style, connects only to its own node and the other nodes of the
 * house, and never runs text as script. X-Frame-Options is not needed: browsers that can run the page's
 * script know `frame-ancestors`, which replaces X-Frame-Options.
 */
function securityPolicy(houseOrigins: readonly string[], ancestors: string): string {
  const nodes = ["'self'", ...houseOrigins].join(' ');
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

function bestEncoding(file: PageFile, acceptEncoding: string): readonly [coding: string, body: Buffer] {
  const weights = weightsIn(acceptEncoding);
  for (const { coding } of ENCODINGS) {
    const body = file[coding];
    if (body !== undefined && (weights.get(coding) ?? 0) > 0) return [coding, body];
  }
  return ['identity', file.identity];
}
