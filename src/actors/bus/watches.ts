// Keeps the match rules of one connection to a bus, and the owners of the names whose signals are passed on.
// Anybody on the bus can send a signal like systemd's, but not forge its unique name.

import { BUS_METHODS, BUS_NAME, OWNER_CHANGES } from '../../protocol/dbus/daemon.js';
import { type Match, type Method, matchRule } from '../../protocol/dbus/method.js';
import { type BusResult, CLOSED, refusedHere } from './fault.js';

/** The system bus refuses more than 512 rules of one connection. */
const MATCHES_MAX_RULES = 500;

const WATCHED: BusResult<undefined> = { ok: true, value: undefined };

type CallBus = <Args extends readonly unknown[], Result>(
  method: Method<Args, Result, 'none'>,
  args: Args,
) => Promise<BusResult<Result>>;

type SharedRequests = Map<string, Promise<BusResult<undefined>>>;

export class Watches {
  readonly #call: CallBus;
  /** Match rules that are set on the bus, or requested. */
  readonly #rules: SharedRequests = new Map();
  /** Watched names whose owners are followed, or about to be. */
  readonly #followed: SharedRequests = new Map();
  /** The unique names of these owners, '' for none. */
  readonly #owners = new Map<string, string>();
  #hasEnded = false;

  constructor(call: CallBus) {
    this.#call = call;
  }

  async watch(match: Match): Promise<BusResult<undefined>> {
    const { sender } = match;
    // A unique name is its own owner, and is never given again.
    if (isUnique(sender)) this.#owners.set(sender, sender);
    else if (sender !== BUS_NAME) {
      const outcome = await shareRequest(this.#followed, sender, () => this.#followOwner(sender));
      if (!outcome.ok) return outcome;
    }
    return this.#addMatch(match);
  }

  async unwatch(match: Match): Promise<BusResult<undefined>> {
    const rule = matchRule(match);
    if (isUnique(match.sender)) this.#owners.delete(match.sender);
    if (!this.#rules.delete(rule)) return WATCHED;
    return this.#call(BUS_METHODS.removeMatch, [rule]);
  }

  /** True if a watched name has an owner now. */
  isOwned(name: string): boolean {
    return (this.#owners.get(name) ?? '') !== '';
  }

  /** True if it is the unique name of the owner of a watched name. */
  isOwner(sender: string): boolean {
    return [...this.#owners.values()].includes(sender);
  }

  /** The bus has announced an owner, '' for none. False if the name is not watched. */
  ownerChanged(name: string, owner: string): boolean {
    if (!this.#followed.has(name)) return false;
    this.#owners.set(name, owner);
    return true;
  }

  /** To be called when the connection is lost. */
  end(): void {
    this.#hasEnded = true;
  }

  async #addMatch(match: Match): Promise<BusResult<undefined>> {
    const rule = matchRule(match);
    const isFull = this.#rules.size >= MATCHES_MAX_RULES && !this.#rules.has(rule);
    if (isFull) return refusedHere('too many match rules');
    return shareRequest(this.#rules, rule, () => this.#call(BUS_METHODS.addMatch, [rule]));
  }

  async #followOwner(name: string): Promise<BusResult<undefined>> {
    const matched = await this.#addMatch({ ...OWNER_CHANGES, arg0: name });
    if (!matched.ok) return matched;
    const outcome = await this.#call(BUS_METHODS.getNameOwner, [name]);
    if (this.#hasEnded) return CLOSED;
    // A change that came in the meantime is newer than this reply. A name without owner is an error reply,
    // but no failure.
    if (outcome.ok && !this.#owners.has(name)) this.#owners.set(name, outcome.value);
    return outcome.ok || outcome.error.kind === 'dbus' ? WATCHED : outcome;
  }
}

const isUnique = (name: string): boolean => name.startsWith(':');

/** Callers that want the same share one request; after a failure the next caller asks again. */
async function shareRequest(
  requests: SharedRequests,
  key: string,
  request: () => Promise<BusResult<undefined>>,
): Promise<BusResult<undefined>> {
  const pending = requests.get(key) ?? request();
  requests.set(key, pending);
  const outcome = await pending;
  // By then the rule may have been removed and asked for again.
  if (!outcome.ok && requests.get(key) === pending) requests.delete(key);
  return outcome;
}
