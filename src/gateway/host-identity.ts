// Decides whether a name in a Host header is one of the node's. The hostname may change while the service
// runs, and Avahi may give the node another name.

import type { AvahiNames } from './avahi-names.js';
import { type Problem, problem } from './problem.js';
import { isTrustedHost, parseHost, type TrustRules, type TrustSettings, trustRules } from './trust.js';

interface IdentityParts {
  readonly hostname: () => string;
  readonly settings: TrustSettings;
  readonly avahi: Pick<AvahiNames, 'has' | 'ask'>;
}

/** A check reads the hostname, or asks Avahi, only if the request would be refused otherwise. */
export class HostIdentity {
  readonly #parts: IdentityParts;
  #settings: TrustSettings;
  #hostname: string;
  #rules: TrustRules;
  /**
   * The last Host header that was trusted. Clients send the same header again and again, and its check would
   * take a tenth of the time of a whole GET.
   */
  #lastTrusted: string | undefined;

  constructor(parts: IdentityParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#hostname = parts.hostname();
    this.#rules = trustRules(this.#hostname, this.#settings);
  }

  reconfigure(settings: TrustSettings): void {
    this.#settings = settings;
    this.#updateRules(this.#parts.hostname());
  }

  get rules(): TrustRules {
    return this.#rules;
  }

  /** Reads the hostname and updates the rules. */
  hostname(): string {
    const hostname = this.#parts.hostname();
    if (hostname !== this.#hostname) this.#updateRules(hostname);
    return hostname;
  }

  #updateRules(hostname: string): void {
    this.#hostname = hostname;
    this.#rules = trustRules(hostname, this.#settings);
    this.#lastTrusted = undefined;
  }

  /**
   * Asks Avahi about the name in this Host header, if only Avahi can tell whether it is the node's. Settles
   * when `hostProblem` can decide about the header; undefined if it can decide now.
   */
  resolveName(header: string): Promise<void> | undefined {
    if (this.#isTrusted(header)) return undefined;
    const host = parseHost(header)?.host;
    const { avahi } = this.#parts;
    return host !== undefined && avahi.has(host) === undefined ? avahi.ask() : undefined;
  }

  hostProblem(header: string): Problem | undefined {
    if (this.#isTrusted(header)) return undefined;
    // Avahi may take this name away again, so the header is not remembered as trusted.
    if (this.#parts.avahi.has(parseHost(header)?.host ?? '') === true) return undefined;
    const host = JSON.stringify(header);
    return problem('foreign-host', `Host ${host} is not a name of this node; the key api.hosts adds names`);
  }

  #isTrusted(header: string): boolean {
    if (header === this.#lastTrusted) return true;
    // The hostname may have changed since the rules were made.
    if (!isTrustedHost(header, this.#rules)) this.hostname();
    if (!isTrustedHost(header, this.#rules)) return false;
    this.#lastTrusted = header;
    return true;
  }
}
