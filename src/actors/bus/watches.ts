// Keeps the match rules of one connection to a bus, and the owners of the watched names. bus.ts passes on
// only signals of these owners and of the bus itself, because anybody on the bus can send a signal like
// systemd's.

import { BUS_METHODS, BUS_NAME, OWNER_CHANGES_MATCH } from '../../protocol/dbus/daemon.js';
import { type Match, type Method, matchRule } from '../../protocol/dbus/method.js';
import { type BusResult, CLOSED, localError } from './fault.js';

/** The system bus refuses more than 512 rules of one connection. This bound stays a little below that. */
const MATCHES_MAX_RULES = 500;

const DONE: BusResult<undefined> = { ok: true, value: undefined };

type CallBus = <Args extends readonly unknown[], Result>(
  method: Method<Args, Result, 'none'>,
  args: Args,
) => Promise<BusResult<Result>>;

type SharedRequests = Map<string, Promise<BusResult<undefined>>>;

export class Watches {
  readonly #call: CallBus;
  /** The requests to add match rules to the bus, by rule. Each request is pending or has succeeded. */
  readonly #ruleRequests: SharedRequests = new Map();
  /** The requests to follow the owners of watched names, by name. Each is pending or has succeeded. */
  readonly #ownerRequests: SharedRequests = new Map();
  /** The unique names of the owners, by watched name; '' for a name that its owner has left. */
  readonly #owners = new Map<string, string>();
  #hasEnded = false;

  constructor(call: CallBus) {
    this.#call = call;
  }

  async watch(match: Match): Promise<BusResult<undefined>> {
    const { sender } = match;
    // A unique name is its own owner, and the bus never gives it to anybody else. The owner of BUS_NAME
    // never changes, so nothing has to follow it.
    if (isUnique(sender)) this.#owners.set(sender, sender);
    else if (sender !== BUS_NAME) {
      const outcome = await shareRequest(this.#ownerRequests, sender, () => this.#followOwner(sender));
      if (!outcome.ok) return outcome;
    }
    return this.#addMatch(match);
  }

  async unwatch(match: Match): Promise<BusResult<undefined>> {
    const rule = matchRule(match);
    // The owner of a well-known name is still followed, because other matches may have the same sender.
    if (isUnique(match.sender)) this.#owners.delete(match.sender);
    if (!this.#ruleRequests.delete(rule)) return DONE;
    return this.#call(BUS_METHODS.removeMatch, [rule]);
  }

  /** True if a watched name has an owner now. */
  hasOwner(name: string): boolean {
    return (this.#owners.get(name) ?? '') !== '';
  }

  /** True if `sender` is the unique name of the owner of a watched name. */
  isWatchedOwner(sender: string): boolean {
    return [...this.#owners.values()].includes(sender);
  }

  /** Sets the owner that the bus has announced, '' for none. Returns false if the name is not watched. */
  setOwner(name: string, owner: string): boolean {
    if (!this.#ownerRequests.has(name)) return false;
    this.#owners.set(name, owner);
    return true;
  }

  /** To be called when the connection is lost. */
  end(): void {
    this.#hasEnded = true;
  }

  async #addMatch(match: Match): Promise<BusResult<undefined>> {
    const rule = matchRule(match);
    const isFull = this.#ruleRequests.size >= MATCHES_MAX_RULES && !this.#ruleRequests.has(rule);
    if (isFull) return localError('too many match rules');
    return shareRequest(this.#ruleRequests, rule, () => this.#call(BUS_METHODS.addMatch, [rule]));
  }

  async #followOwner(name: string): Promise<BusResult<undefined>> {
    const matched = await this.#addMatch({ ...OWNER_CHANGES_MATCH, arg0: name });
    if (!matched.ok) return matched;
    const outcome = await this.#call(BUS_METHODS.getNameOwner, [name]);
    if (this.#hasEnded) return CLOSED;
    // A change of owner that came meanwhile is newer than this reply.
    if (outcome.ok && !this.#owners.has(name)) this.#owners.set(name, outcome.value);
    // If the name has no owner, the bus answers with an error. This is no failure.
    const hasAnswer = outcome.ok || outcome.error.kind === 'dbus';
    return hasAnswer ? DONE : outcome;
  }
}

const isUnique = (name: string): boolean => name.startsWith(':');

/** Callers with the same key share one request. After a failure the next caller makes a new one. */
async function shareRequest(
  requests: SharedRequests,
  key: string,
  request: () => Promise<BusResult<undefined>>,
): Promise<BusResult<undefined>> {
  const shared = requests.get(key) ?? request();
  requests.set(key, shared);
  const outcome = await shared;
  // Meanwhile `unwatch` may have removed this request, and a caller may have made a new one.
  if (!outcome.ok && requests.get(key) === shared) requests.delete(key);
  return outcome;
}
