// The names of the node, as they are now: its hostname may change while the service runs, and Avahi may give
// it another name.

import type { AvahiNames } from './avahi-names.js';
import { type Problem, problem } from './problem.js';
import { isTrustedHost, parseHost, type TrustRules, type TrustSettings, trustRules } from './trust.js';

interface IdentityParts {
  readonly hostname: () => string;
  readonly settings: TrustSettings;
  readonly avahi: Pick<AvahiNames, 'has' | 'ask'>;
}

/** The hostname is read, and Avahi is asked, only before a request is refused, not on every request. */
export class HostIdentity {
  readonly #parts: IdentityParts;
  #settings: TrustSettings;
  #hostname: string;
  #rules: TrustRules;
  /**
   * The last Host header that passed: clients repeat theirs, and a check takes a tenth of the time of
   * a whole GET.
   */
  #passed: string | undefined;

  constructor(parts: IdentityParts) {
    this.#parts = parts;
    this.#settings = parts.settings;
    this.#hostname = parts.hostname();
    this.#rules = trustRules(this.#hostname, this.#settings);
  }

  reconfigure(settings: TrustSettings): void {
    this.#settings = settings;
    this.#follow(this.#parts.hostname());
  }

  get rules(): TrustRules {
    return this.#rules;
  }

  /** Reads the hostname and updates the rules. */
  hostname(): string {
    const hostname = this.#parts.hostname();
    if (hostname !== this.#hostname) this.#follow(hostname);
    return hostname;
  }

  #follow(hostname: string): void {
    this.#hostname = hostname;
    this.#rules = trustRules(hostname, this.#settings);
    this.#passed = undefined;
  }

  /** Settles when `hostProblem` can decide about this Host header; undefined if it can now. */
  learning(header: string): Promise<void> | undefined {
    if (this.#isTrusted(header)) return undefined;
    const host = parseHost(header)?.host;
    const { avahi } = this.#parts;
    return host !== undefined && avahi.has(host) === undefined ? avahi.ask() : undefined;
  }

  hostProblem(header: string): Problem | undefined {
    if (this.#isTrusted(header)) return undefined;
    // Avahi may take this name away again, so it is not remembered as the one that passed.
    if (this.#parts.avahi.has(parseHost(header)?.host ?? '') === true) return undefined;
    const host = JSON.stringify(header);
    return problem('foreign-host', `Host ${host} is not a name of this node; the key api.hosts adds names`);
  }

  #isTrusted(header: string): boolean {
    if (header === this.#passed) return true;
    if (!isTrustedHost(header, this.#rules)) this.hostname();
    if (!isTrustedHost(header, this.#rules)) return false;
    this.#passed = header;
    return true;
  }
}
