// Who may use the interface (docs/http-api.md, "Host and Origin"): checks of Host, Origin and Sec-Fetch-Site and of headers that could be
// read in two ways, and the response headers that tell browsers. Functions of header texts; the hostname is given. They run before routing
// and before anything has an effect, on every request.

import { isIP } from 'node:net';
import type { Exchange } from './exchange.js';
import { type Problem, problem } from './problem.js';
import type { HeaderPair, HttpReply } from './reply.js';

export interface TrustSettings {
  /** `api.hosts`. */
  readonly hosts: readonly string[];
  /** `api.cors.origins`. */
  readonly origins: readonly string[];
}

/** The settings in the form in which requests are compared with them. */
export interface TrustRules {
  readonly names: ReadonlySet<string>;
  readonly anyOrigin: boolean;
  readonly origins: ReadonlySet<string>;
}

export interface Authority {
  /** Lower case, without brackets, zone and trailing dot. */
  readonly host: string;
  readonly port: number;
}

type RequestHead = Pick<Exchange, 'method' | 'header' | 'repeated'>;

/** `none`: no Origin was sent, as by everything that is not a browser. */
export type OriginStanding = 'none' | 'same' | 'listed' | 'foreign';

/** Host headers whose check is remembered. Honest clients write a handful. */
const REMEMBERED_HOSTS_MAX = 64;
const HTTP_PORT = 80;
const HTTPS_PORT = 443;
/**
 * Below these, routers and mDNS give the node its name (docs/http-api.md, "Host and Origin"). No public name server serves them;
 * `fritz.box` is the router maker's own domain, in which nobody else can make a name.
 */
const HOME_SUFFIXES = ['local', 'lan', 'home', 'home.arpa', 'internal', 'localdomain', 'fritz.box'] as const;

/** Headers that make a request ambiguous when they come twice: which one counts would be anyone's guess. */
const SINGLE_HEADERS = ['host', 'origin', 'content-length', 'content-type', 'transfer-encoding'] as const;

const METHODS = 'GET, POST, OPTIONS';
const REQUEST_HEADERS = 'Content-Type, Last-Event-ID';
const EXPOSED_HEADERS = 'ETag, X-Cache-Updated-At, Retry-After, Allow, Content-Disposition';
/** Seconds. Without it browsers ask again every 5 s, which a volume slider feels. */
const PREFLIGHT_AGE_S = 600;
const VARY: HeaderPair = ['Vary', 'Origin'];
const NO_HEADERS: readonly HeaderPair[] = [];
const ONLY_VARY: readonly HeaderPair[] = [VARY];

export function trustRules(nodeName: string, settings: TrustSettings): TrustRules {
  const hostname = plainName(nodeName);
  // mDNS and DHCP know the first label only, also where the hostname is a full domain name.
  const label = hostname.split('.')[0] ?? hostname;
  const own = label === '' ? [] : [hostname, label, ...HOME_SUFFIXES.map((suffix) => `${label}.${suffix}`)];
  return {
    names: new Set(['localhost', ...own, ...settings.hosts.map(plainName)]),
    anyOrigin: settings.origins.includes('*'),
    origins: new Set(settings.origins.map((origin) => normalOrigin(origin.replace(/\/+$/, '')) ?? origin)),
  };
}

/** Undefined: not a `host[:port]` as RFC 9110 writes it. Without a port it means `usualPort`. */
export function parseHost(text: string, usualPort = HTTP_PORT): Authority | undefined {
  const parts = /^(?:\[([^[\]]+)\]|([^[\]:/?#@\s]+))(?::(\d{0,5}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, bracketed, name, portText] = parts;
  const port = portText === undefined || portText === '' ? usualPort : Number(portText);
  if (port > 0xffff) return undefined;
  if (bracketed === undefined) return { host: plainName(name ?? ''), port };
  const host = bracketed.replace(/%.*$/, '').toLowerCase();
  return isIP(host) === 6 ? { host, port } : undefined;
}

/** DNS rebinding: only a name that an attacker cannot make point here is answered. */
export function isTrustedHost(header: string, rules: TrustRules): boolean {
  const host = parseHost(header)?.host;
  return host !== undefined && (rules.names.has(host) || isIP(host) !== 0);
}

export function originStanding(origin: string, host: string, rules: TrustRules): OriginStanding {
  if (origin === '') return 'none';
  if (isSameOrigin(origin, host)) return 'same';
  if (rules.anyOrigin) return 'listed';
  // `null` is what every sandboxed page sends: it names nobody, so that no list but `*` can mean it.
  const normal = normalOrigin(origin);
  return normal !== undefined && rules.origins.has(normal) ? 'listed' : 'foreign';
}

/**
 * The node as it is addressed. Its hostname may change while the service runs (`hostnamectl hostname`), and is read again before
 * anybody is refused, not on every request.
 */
export class HostIdentity {
  readonly #read: () => string;
  readonly #settings: TrustSettings;
  /** Host headers that passed: clients send the same one with every request, and each check takes 5 % of a GET (measured). */
  readonly #passed = new Set<string>();
  #hostname: string;
  #rules: TrustRules;

  /** `read` gives the hostname of this moment. */
  constructor(read: () => string, settings: TrustSettings) {
    this.#read = read;
    this.#settings = settings;
    this.#hostname = read();
    this.#rules = trustRules(this.#hostname, settings);
  }

  /** As of the last reading. */
  get rules(): TrustRules {
    return this.#rules;
  }

  /** Read now, and known from now on. */
  hostname(): string {
    const hostname = this.#read();
    if (hostname === this.#hostname) return hostname;
    this.#hostname = hostname;
    this.#rules = trustRules(hostname, this.#settings);
    this.#passed.clear();
    return hostname;
  }

  /** Undefined: the request with this Host may go on. */
  distrust(header: string): Problem | undefined {
    if (this.#passed.has(header)) return undefined;
    if (!isTrustedHost(header, this.#rules)) this.hostname();
    if (!isTrustedHost(header, this.#rules)) {
      const host = JSON.stringify(header);
      return problem('foreign-host', `Host ${host} is no name of this node; api.hosts can name more`);
    }
    if (this.#passed.size < REMEMBERED_HOSTS_MAX) this.#passed.add(header);
    return undefined;
  }
}

/**
 * A request of which it is not sure what it says, or where it ends, though uWebSockets.js lets it through. What a GET asks for is the
 * same whoever asks, so only the others are looked at. That holds for a repeated Host too, which RFC 9112 (section 3.2) wants
 * refused everywhere: a GET is judged by its first Host. To look through a browser's ten headers takes 0.75 µs, and the whole GET
 * 6.4 µs (measured). Headers behind one without a name are hidden by uWebSockets.js.
 */
export function ambiguityOf(exchange: RequestHead): Problem | undefined {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') return undefined;
  const twice = exchange.repeated(SINGLE_HEADERS);
  if (twice !== undefined) return problem('bad-request', `The header ${twice} came more than once`);
  const coding = exchange.header('transfer-encoding').trim().toLowerCase();
  if (coding === '' || coding === 'chunked') return undefined;
  return problem(
    'bad-request',
    `Transfer-Encoding ${JSON.stringify(coding)} is not understood, only chunked`,
  );
}

/**
 * CSRF: a page of another origin may read (where CORS lets it), but have no effect. Undefined: the request may go on. To a browser the
 * http page of a name is another site than its https page, which `Origin` and `Host` do not tell apart.
 */
export function distrustOrigin(
  method: string,
  origin: string,
  standing: OriginStanding,
  secFetchSite: string,
): Problem | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (standing === 'foreign') return foreignOrigin(origin);
  if (method !== 'OPTIONS' && standing !== 'listed' && secFetchSite.toLowerCase() === 'cross-site') {
    return problem('foreign-origin', 'A page of another site sent this request');
  }
  return undefined;
}

export function foreignOrigin(origin: string): Problem {
  return problem('foreign-origin', `Origin ${JSON.stringify(origin)} is not in api.cors.origins`);
}

/** On every answer but preflights. Where no origin is configured, answers do not depend on it and say nothing. */
export function corsHeaders(
  origin: string,
  standing: OriginStanding,
  rules: TrustRules,
): readonly HeaderPair[] {
  if (!rules.anyOrigin && rules.origins.size === 0) return NO_HEADERS;
  if (standing !== 'listed') return ONLY_VARY;
  return [allowOrigin(origin, rules), VARY, ['Access-Control-Expose-Headers', EXPOSED_HEADERS]];
}

/** The answer to OPTIONS. `allow` is the route's own list; `privateNetwork`: the browser asked for it. */
export function optionsReply(
  request: { readonly origin: string; readonly standing: OriginStanding; readonly privateNetwork: boolean },
  allow: string,
  rules: TrustRules,
): HttpReply {
  const headers: HeaderPair[] = [['Allow', allow]];
  if (request.standing === 'same' || request.standing === 'listed') {
    headers.push(
      allowOrigin(request.origin, rules),
      ['Access-Control-Allow-Methods', METHODS],
      ['Access-Control-Allow-Headers', REQUEST_HEADERS],
      ['Access-Control-Max-Age', String(PREFLIGHT_AGE_S)],
    );
    if (request.privateNetwork) headers.push(['Access-Control-Allow-Private-Network', 'true']);
  }
  headers.push(['Vary', 'Origin, Access-Control-Request-Private-Network']);
  return { status: 204, headers };
}

function allowOrigin(origin: string, rules: TrustRules): HeaderPair {
  return ['Access-Control-Allow-Origin', rules.anyOrigin ? '*' : origin];
}

/**
 * A page of the node's own, also one that came through a proxy which speaks https in its place: whoever asks by a name that is trusted
 * is at that name. A proxy's word for itself (`X-Forwarded-Proto`) is not needed, and anybody could say it.
 */
function isSameOrigin(origin: string, host: string): boolean {
  const [, scheme = '', authority = ''] = /^(https?):\/\/(.+)$/i.exec(origin) ?? [];
  const usualPort = scheme.toLowerCase() === 'https' ? HTTPS_PORT : HTTP_PORT;
  const [theirs, ours] = [parseHost(authority, usualPort), parseHost(host, usualPort)];
  return theirs !== undefined && theirs.host === ours?.host && theirs.port === ours.port;
}

/** An origin in the spelling of browsers: lower case, without the default port. Undefined: not an origin. */
function normalOrigin(origin: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\\\s]+$/i.test(origin)) return undefined;
  if (!URL.canParse(origin)) return undefined;
  const known = new URL(origin).origin;
  // URL gives `null` for schemes that it does not know, as those of wrapped web apps (`capacitor://localhost`).
  return known === 'null' ? origin.toLowerCase() : known;
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
