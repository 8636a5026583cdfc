// Decides whether a request is trusted (docs/http-api.md, "Host and Origin"), and which CORS headers the
// reply has. Pure.

import { isIP } from 'node:net';
import type { ControlChoice, Settings } from '../protocol/actor/settings.js';
import type { Exchange } from './exchange.js';
import { type Problem, problem } from './problem.js';
import type { HeaderPair, HeaderPairs, HttpReply } from './reply.js';

/**
 * Hosts and origins are normalized (supervisor/config/texts.ts). Hosts are in lower case and have no trailing
 * dot. Origins are as browsers send them, or `*`.
 */
export interface TrustSettings {
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** True if pages of other nodes may be trusted. */
  readonly trustsHouse: boolean;
}

export function trustSettings({ api, discovery }: Pick<Settings, 'api' | 'discovery'>): TrustSettings {
  const trustsHouse = discovery.enabled && discovery.trust;
  return { hosts: api.hosts, origins: api.cors.origins, trustsHouse };
}

/** The settings and the hostname, in the form that requests are compared with. */
export interface TrustRules {
  readonly names: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
  /** True if what a page may read depends on its origin. */
  readonly variesByOrigin: boolean;
}

type ReadableHead = Pick<Exchange, 'method' | 'header' | 'firstRepeatedHeader'>;

/**
 * - `none`: there is no Origin header. Programs send none, and browsers send none with most GETs.
 * - `same`: the request comes from a page of this node.
 * - `allowed`: it comes from a page of an origin in the configuration, or from a page of a trusted node. Only
 *   handler.ts knows the trusted nodes.
 * - `foreign`: it comes from any other page.
 */
export type OriginStanding = 'none' | 'same' | 'allowed' | 'foreign';

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
/**
 * Routers and mDNS give names with these suffixes to the node (docs/http-api.md, "Host and Origin"). No
 * public name server serves these suffixes, except `fritz.box`. The maker of FRITZ!Box routers owns this
 * domain, and nobody else can make a name in it.
 */
const HOME_SUFFIXES = ['local', 'lan', 'home', 'home.arpa', 'internal', 'localdomain', 'fritz.box'] as const;

/** If such a header is repeated, some programs use the first one, and others the last one. */
const SINGLE_HEADERS = ['host', 'origin', 'content-length', 'content-type', 'transfer-encoding'] as const;

const HOST_HEADER = ['host'] as const;

const METHODS = 'GET, POST, OPTIONS';
const REQUEST_HEADERS = 'Content-Type, Last-Event-ID';
const EXPOSED_HEADERS = 'ETag, X-Cache-Updated-At, Retry-After, Allow, Content-Disposition, Date';
/** Without this age browsers repeat the preflight every 5 s, which delays a volume slider. */
const PREFLIGHT_AGE_S = 600;
const VARY: HeaderPair = ['Vary', 'Origin'];
/** `ONLY_VARY` and `NO_HEADERS` are made once, because almost every reply has one of them. */
const ONLY_VARY: HeaderPairs = [VARY];
const NO_HEADERS: HeaderPairs = [];

export function trustRules(nodeName: string, settings: TrustSettings): TrustRules {
  const hostname = plainName(nodeName);
  // mDNS and DHCP use only the first label, even if the hostname is a full domain name.
  const label = hostname.split('.')[0] ?? hostname;
  const homeNames = HOME_SUFFIXES.map((suffix) => `${label}.${suffix}`);
  const nodeNames = label === '' ? [] : [hostname, label, ...homeNames];
  return {
    names: new Set(['localhost', ...nodeNames, ...settings.hosts]),
    origins: new Set(settings.origins),
    variesByOrigin: settings.trustsHouse || settings.origins.length > 0,
  };
}

/**
 * Returns host and port. The host is in lower case, and has no brackets, zone or trailing dot:
 * `[FE80::1%eth0]:8018` has the host `fe80::1`. If the text has no port, the port is `usualPort`. Undefined
 * if the text is not a `host[:port]` by RFC 9110.
 */
export function parseHost(text: string, usualPort = HTTP_PORT): { host: string; port: number } | undefined {
  // The pattern matches an address in brackets, or a name or IPv4 address, and then perhaps a port. The port
  // may be empty, as in `node:`.
  const parts = /^(?:\[([^[\]]+)\]|([^[\]:/?#@\s]+))(?::(\d{0,5}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, bracketed, name, portText] = parts;
  const port = portText === undefined || portText === '' ? usualPort : Number(portText);
  if (port > 0xffff) return undefined;
  if (bracketed === undefined) return { host: plainName(name ?? ''), port };
  const host = bracketed.replace(/%.*$/, '').toLowerCase();
  return isIP(host) === 6 ? { host, port } : undefined;
}

/**
 * Protects against DNS rebinding: accepts IP addresses, and only those names that an attacker cannot point
 * at this node.
 */
export function isTrustedHost(header: string, rules: TrustRules): boolean {
  const host = parseHost(header)?.host;
  return host !== undefined && (rules.names.has(host) || isIP(host) !== 0);
}

export function originStanding(origin: string, host: string, rules: TrustRules): OriginStanding {
  if (origin === '') return 'none';
  if (isSameOrigin(origin, host)) return 'same';
  // Every sandboxed page sends `null`, so this origin identifies nobody. The configuration does not accept
  // `null`, so only `*` can allow it.
  return rules.origins.has('*') || rules.origins.has(origin) ? 'allowed' : 'foreign';
}

/**
 * Refuses requests that uWebSockets.js accepts although their content or end is ambiguous. GET and HEAD have
 * no effect, so they are refused here only if their Host is repeated (RFC 9112, section 3.2). This check
 * takes 0.75 µs of the 6.4 µs that a GET with a browser's ten headers takes. Headers that follow a header
 * without a name are not checked, because uWebSockets.js hides them.
 */
export function ambiguityProblem(exchange: ReadableHead): Problem | undefined {
  const isReading = exchange.method === 'GET' || exchange.method === 'HEAD';
  const repeated = exchange.firstRepeatedHeader(isReading ? HOST_HEADER : SINGLE_HEADERS);
  if (repeated !== undefined) return problem('bad-request', `The header ${repeated} came more than once`);
  if (isReading) return undefined;
  const coding = exchange.header('transfer-encoding').trim().toLowerCase();
  if (coding === '' || coding === 'chunked') return undefined;
  const detail = `Transfer-Encoding ${JSON.stringify(coding)} is not supported, only chunked is`;
  return problem('bad-request', detail);
}

/**
 * Protects against CSRF: a page of a foreign origin may send only GET and HEAD, which have no effect.
 * Undefined if the request is accepted.
 */
export function originProblem(
  method: string,
  origin: string,
  standing: OriginStanding,
  secFetchSite: string,
): Problem | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (standing === 'foreign') return foreignOrigin(origin);
  // `Sec-Fetch-Site` is not checked for OPTIONS, because OPTIONS has no effect. It is not checked for an
  // allowed page either, because this page may be of another site.
  if (method === 'OPTIONS' || standing === 'allowed') return undefined;
  // `isSameOrigin` does not compare schemes. So behind a proxy that adds https, a request from the page
  // `http://node` to `https://node` has the standing `same`. It is refused here, because browsers mark it as
  // `cross-site`.
  if (secFetchSite.toLowerCase() !== 'cross-site') return undefined;
  return problem('foreign-origin', 'A page of another site sent this request');
}

export function foreignOrigin(origin: string): Problem {
  return problem('foreign-origin', `Origin ${JSON.stringify(origin)} is not in api.cors.origins`);
}

const READ_ONLY = problem('read-only', 'api.control is false: nothing can be changed over HTTP');
const LOCAL_ONLY = problem(
  'read-only',
  'api.control is local: only a program on the node itself, such as a proxy, can change something',
);

/** Undefined if the sender of the request may change something. */
export function controlProblem(
  control: ControlChoice,
  exchange: Pick<Exchange, 'isLocal'>,
): Problem | undefined {
  if (control === true) return undefined;
  if (control === false) return READ_ONLY;
  return exchange.isLocal ? undefined : LOCAL_ONLY;
}

/**
 * The paths that the pages of other nodes may use (docs/http-api.md, "The house"): players, sound, the
 * events, the list of nodes, and `/server`. The pattern matches `/audio` and `/audio/outputs`, but not
 * `/audiobooks`.
 */
const OPEN_TO_HOUSE = /^\/(?:server|nodes|events|audio|players)(?:\/|$)/;
/** Pages of other nodes must not get the sound server's cookie, although its path begins with `/audio`. */
const COOKIE_PATH = '/audio/cookie';

/** `path` is that of a route, such as `/audio/outputs/{output}`. */
export function isOpenToHouse(path: string): boolean {
  return OPEN_TO_HOUSE.test(path) && path !== COOKIE_PATH;
}

/**
 * Returns the CORS headers of every reply that `optionsReply` does not make. If no origin can be allowed,
 * replies do not vary by origin and have no CORS headers.
 */
export function corsHeaders(origin: string, standing: OriginStanding, rules: TrustRules): HeaderPairs {
  if (!rules.variesByOrigin) return NO_HEADERS;
  if (standing !== 'allowed') return ONLY_VARY;
  return [allowOrigin(origin, rules), VARY, ['Access-Control-Expose-Headers', EXPOSED_HEADERS]];
}

interface OptionsRequest {
  readonly origin: string;
  readonly standing: OriginStanding;
  readonly asksForPrivateNetwork: boolean;
}

/** `allow` lists the methods of the path. */
export function optionsReply(request: OptionsRequest, allow: string, rules: TrustRules): HttpReply {
  const headers: HeaderPair[] = [['Allow', allow]];
  if (request.standing === 'same' || request.standing === 'allowed') {
    headers.push(
      allowOrigin(request.origin, rules),
      ['Access-Control-Allow-Methods', METHODS],
      ['Access-Control-Allow-Headers', REQUEST_HEADERS],
      ['Access-Control-Max-Age', String(PREFLIGHT_AGE_S)],
    );
    if (request.asksForPrivateNetwork) headers.push(['Access-Control-Allow-Private-Network', 'true']);
  }
  headers.push(['Vary', 'Origin, Access-Control-Request-Private-Network']);
  return { status: 204, headers };
}

function allowOrigin(origin: string, rules: TrustRules): HeaderPair {
  return ['Access-Control-Allow-Origin', rules.origins.has('*') ? '*' : origin];
}

/**
 * Only host and port are compared, because `Host` has no scheme. So the node's own pages have the same origin
 * even behind a proxy that adds https. If `Host` has no port, the usual port of the origin's scheme is meant.
 * handler.ts checks that the host is a trusted one. A proxy may put the scheme into `X-Forwarded-Proto`, but
 * anybody could send that header, so it is not read.
 */
function isSameOrigin(origin: string, host: string): boolean {
  const [, scheme = '', authority = ''] = /^(https?):\/\/(.+)$/i.exec(origin) ?? [];
  const usualPort = scheme.toLowerCase() === 'https' ? HTTPS_PORT : HTTP_PORT;
  const pageHost = parseHost(authority, usualPort);
  const nodeHost = parseHost(host, usualPort);
  return pageHost !== undefined && pageHost.host === nodeHost?.host && pageHost.port === nodeHost.port;
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
