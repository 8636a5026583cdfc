// Decides whether the name in a Host header is a name of the node. The hostname may change while the service
// runs, and Avahi may give the node another name.

import type { AvahiNames } from './avahi-names.js';
import { type Problem, problem } from './problem.js';
import { isTrustedHost, parseHost, type TrustRules, type TrustSettings, trustRules } from './trust.js';

interface IdentityParts {
  readonly hostname: () => string;
  readonly settings: TrustSettings;
  readonly avahi: Pick<AvahiNames, 'has' | 'ask'>;
}

/** A check reads the hostname and asks Avahi only for a request that would otherwise be refused. */
export class HostIdentity {
  readonly #parts: IdentityParts;
  #settings: TrustSettings;
  #hostname: string;
  #rules: TrustRules;
  /**
   * The last Host header that was trusted. It is not checked again, because clients repeat the same header,
   * and a check takes a tenth of the time of a whole GET.
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

  /** Returns the current hostname. If it has changed, updates the rules, too. */
  hostname(): string {
    const currentHostname = this.#parts.hostname();
    if (currentHostname !== this.#hostname) this.#updateRules(currentHostname);
    return currentHostname;
  }

  #updateRules(hostname: string): void {
    this.#hostname = hostname;
    this.#rules = trustRules(hostname, this.#settings);
    this.#lastTrusted = undefined;
  }

  /**
   * Asks Avahi for the node's names, but only if nothing else can decide about this Host header.
   * `hostProblem` can decide as soon as the promise has settled, or at once if there is no promise.
   */
  askAvahiIfNeeded(header: string): Promise<void> | undefined {
    if (this.#isTrusted(header)) return undefined;
    const host = parseHost(header)?.host;
    const { avahi } = this.#parts;
    // `has` returns undefined if Avahi has not answered yet, or if the last answer is too old.
    return host !== undefined && avahi.has(host) === undefined ? avahi.ask() : undefined;
  }

  hostProblem(header: string): Problem | undefined {
    if (this.#isTrusted(header)) return undefined;
    // Avahi may withdraw this name at any time, so this header does not become the last trusted one.
    if (this.#parts.avahi.has(parseHost(header)?.host ?? '') === true) return undefined;
    const host = JSON.stringify(header);
    return problem('foreign-host', `Host ${host} is not a name of this node; the key api.hosts adds names`);
  }

  #isTrusted(header: string): boolean {
    if (header === this.#lastTrusted) return true;
    // The hostname may have changed since the rules were made. Then `hostname` makes new rules, and the
    // second check uses them.
    if (!isTrustedHost(header, this.#rules)) this.hostname();
    if (!isTrustedHost(header, this.#rules)) return false;
    this.#lastTrusted = header;
    return true;
  }
}
