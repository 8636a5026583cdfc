// Who may use the interface (contract, section 6): checks of Host, Origin and Sec-Fetch-Site, as functions of header texts.
// Pure. They run before routing and before anything has an effect, on every request.

import { isIP } from 'node:net';
import { type Problem, problem } from './problem.js';

export interface TrustSettings {
  readonly hostname: string;
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

/** `none`: no Origin was sent, as by everything that is not a browser. */
export type OriginStanding = 'none' | 'same' | 'listed' | 'foreign';

/** Host headers whose check is remembered. Honest clients write a handful. */
const REMEMBERED_HOSTS_MAX = 64;
const HTTP_PORT = 80;
/** Below these, routers and mDNS give the node its name; no public name server serves them (contract, section 6). */
const HOME_SUFFIXES = ['local', 'lan', 'home', 'home.arpa', 'internal', 'localdomain'] as const;

export function trustRules(settings: TrustSettings): TrustRules {
  const hostname = plainName(settings.hostname);
  // mDNS and DHCP know the first label only, also where the hostname is a full domain name.
  const label = hostname.split('.')[0] ?? hostname;
  const own = label === '' ? [] : [hostname, label, ...HOME_SUFFIXES.map((suffix) => `${label}.${suffix}`)];
  return {
    names: new Set(['localhost', ...own, ...settings.hosts.map(plainName)]),
    anyOrigin: settings.origins.includes('*'),
    origins: new Set(settings.origins.map((origin) => normalOrigin(origin.replace(/\/+$/, '')) ?? origin)),
  };
}

/** Undefined: not a `host[:port]` as RFC 9110 writes it. */
export function parseHost(text: string): Authority | undefined {
  const parts = /^(?:\[([^[\]]+)\]|([^[\]:/?#@\s]+))(?::(\d{0,5}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, bracketed, name, portText] = parts;
  const port = portText === undefined || portText === '' ? HTTP_PORT : Number(portText);
  if (port > 0xffff) return undefined;
  if (bracketed === undefined) return { host: plainName(name ?? ''), port };
  const host = bracketed.replace(/%.*$/, '').toLowerCase();
  return isIP(host) === 6 ? { host, port } : undefined;
}

/** DNS rebinding: only a name that an attacker cannot make point here is answered. */
export function isTrustedHost(header: string, rules: TrustRules): boolean {
  const host = parseHost(header)?.host;
  return host !== undefined && (isIP(host) !== 0 || rules.names.has(host));
}

export function originStanding(origin: string, host: string, rules: TrustRules): OriginStanding {
  if (origin === '') return 'none';
  if (isSameOrigin(origin, host)) return 'same';
  if (rules.anyOrigin) return 'listed';
  // `null` is what every sandboxed page sends: it names nobody, so that no list but `*` can mean it.
  const normal = normalOrigin(origin);
  return normal !== undefined && rules.origins.has(normal) ? 'listed' : 'foreign';
}

/** The rules of this moment; `look` makes sure that they are. Looking on every request would cost too much. */
export interface CurrentRules {
  readonly rules: TrustRules;
  look(): void;
}

/** The check of Host, with a memory of the texts that passed it: clients send the same one with every request. */
export class HostCheck {
  readonly #current: CurrentRules;
  readonly #passed = new Set<string>();
  #passedBy: TrustRules;

  constructor(current: CurrentRules) {
    this.#current = current;
    this.#passedBy = current.rules;
  }

  /** Undefined: the request may go on. Nobody is refused before the rules have been looked at again. */
  distrust(header: string): Problem | undefined {
    if (this.#current.rules !== this.#passedBy) this.#passed.clear();
    this.#passedBy = this.#current.rules;
    if (this.#passed.has(header)) return undefined;
    if (!this.#isTrusted(header)) {
      return problem(
        'foreign-host',
        `Host ${JSON.stringify(header)} is no name of this node; api.hosts can name more`,
      );
    }
    if (this.#passed.size < REMEMBERED_HOSTS_MAX) this.#passed.add(header);
    return undefined;
  }

  #isTrusted(header: string): boolean {
    if (isTrustedHost(header, this.#current.rules)) return true;
    this.#current.look();
    return isTrustedHost(header, this.#current.rules);
  }
}

/** CSRF: a page of another origin may read (where CORS lets it), but have no effect. Undefined: the request may go on. */
export function distrustOrigin(
  method: string,
  origin: string,
  standing: OriginStanding,
  secFetchSite: string,
): Problem | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (standing === 'foreign') {
    return problem('foreign-origin', `Origin ${JSON.stringify(origin)} is not in api.cors.origins`);
  }
  if (method !== 'OPTIONS' && standing === 'none' && secFetchSite.toLowerCase() === 'cross-site') {
    return problem('foreign-origin', 'A page of another site sent this request');
  }
  return undefined;
}

/** The service speaks plain http, so an https page of the same name is another origin. */
function isSameOrigin(origin: string, host: string): boolean {
  const authority = /^http:\/\/(.+)$/i.exec(origin)?.[1];
  if (authority === undefined) return false;
  const [theirs, ours] = [parseHost(authority), parseHost(host)];
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
