// Sends the journal to bridges and other subscribers, and carries out the operations that children request.
// This file parses no text of the journal. It reaches a thread only by the function `send` of a feed.

import { errorText } from '../printable.js';
import { type ChildName, SUBSCRIBERS, type Subscriber } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, COLLECTION_SPECS, type Collection } from '../protocol/actor/collections.js';
import {
  type Change,
  type ChangeBatch,
  type ChildReply,
  type ChildRequest,
  IS_NEEDED,
  type Log,
} from '../protocol/actor/messages.js';
import { OPERATIONS } from '../protocol/actor/operations.js';
import { type Params, parametersOf } from '../protocol/actor/parameters.js';
import { failed, success } from '../protocol/actor/result.js';
import { BODY_LIMIT_BYTES, BODY_TOO_LARGE, type ParsedBody, parseBody } from './body.js';
import type { RequestHandler } from './handler.js';
import type { Journal, JournalEntry } from './journal.js';
import type { OperationReplies } from './operation-replies.js';
import { problemOfError, problemReply, SHUTTING_DOWN } from './problem.js';
import type { HttpReply } from './reply.js';
import { BAD_PATHS, missingKeyFor, noSuchPath, type RouteSettings } from './routes.js';

/** A feed sends the journal to the newest thread of a subscriber. */
interface Feed {
  readonly send: (batch: ChangeBatch) => void;
  /** All entries up to this sequence number count as sent; undefined if the thread is new. */
  sentUpTo: number | undefined;
  /** True if the thread has applied everything that was sent to it. */
  isReady: boolean;
}

interface UnsentEntries {
  /** True if `entries` has all records that a snapshot has. */
  readonly isWhole: boolean;
  readonly entries: readonly JournalEntry[];
}

/**
 * Nothing is queued for a slow subscriber. When it is ready again, it gets the newest text of each changed
 * record, and the removals and actions since its last batch.
 */
export class SubscriberFeeds {
  readonly #journal: Journal;
  readonly #feeds = new Map<Subscriber, Feed>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /**
   * Sends the new entries of the journal to the subscribers that are ready. A ready subscriber needs nothing
   * else, because it has all earlier entries. The other subscribers get the new entries by `continueFeed`.
   */
  sendNew(entries: readonly JournalEntry[]): void {
    for (const [subscriber, feed] of this.#feeds)
      if (feed.isReady) this.#send(subscriber, feed, { isWhole: false, entries });
  }

  /** To be called when the child is not enabled any more. */
  forget(child: ChildName): void {
    const subscriber = subscriberOf(child);
    if (subscriber !== undefined) this.#feeds.delete(subscriber);
  }

  /**
   * To be called at the shutdown, between the last change and the message `stop`. Subscribers that are not
   * ready get their unread changes, too.
   */
  sendAllUnread(): void {
    for (const [subscriber, feed] of this.#feeds) this.#sendUnread(subscriber, feed);
  }

  /**
   * To be called when the subscriber's thread is ready for more. `isFirst` is true if the thread is new, so
   * that nothing counts as sent.
   */
  continueFeed(child: ChildName, isFirst: boolean, send: (batch: ChangeBatch) => void): void {
    const subscriber = subscriberOf(child);
    if (subscriber === undefined) return;
    const sentUpTo = isFirst ? undefined : this.#feeds.get(subscriber)?.sentUpTo;
    const feed: Feed = { send, sentUpTo, isReady: true };
    this.#feeds.set(subscriber, feed);
    this.#sendUnread(subscriber, feed);
  }

  /**
   * There are three cases:
   * - A new thread gets all records.
   * - An older thread gets its unread entries, if the journal still has all unread removals and actions.
   * - Otherwise an older thread gets all records once more, and the unread actions that the journal still
   *   has.
   */
  #sendUnread(subscriber: Subscriber, feed: Feed): void {
    const { sentUpTo } = feed;
    const journal = this.#journal;
    const unread = sentUpTo === undefined ? [] : [...journal.entriesAfter(sentUpTo)];
    const isWhole =
      sentUpTo === undefined ||
      !journal.isCompleteAfter(sentUpTo, (collection) => isNeeded(subscriber, collection));
    const unreadActions = unread.filter(({ kind }) => kind === 'action');
    const entries = isWhole ? unreadActions.concat(this.#allRecords()) : unread;
    this.#send(subscriber, feed, { isWhole, entries });
  }

  /**
   * Collections with `keeps` (protocol/actor/collections.ts) are left out, as in the snapshots of event
   * streams: their records are actions, or a repetition of what readers get in another way.
   */
  #allRecords(): readonly JournalEntry[] {
    const collections = COLLECTION_NAMES.filter((name) => COLLECTION_SPECS[name].keeps === undefined);
    return collections.flatMap((name) => [...this.#journal.records(name)]);
  }

  #send(subscriber: Subscriber, feed: Feed, { isWhole, entries }: UnsentEntries): void {
    feed.sentUpTo = this.#journal.newestSequence;
    const relevant = entries.filter(({ collection }) => isNeeded(subscriber, collection));
    const changes = relevant.map(
      ({ kind, collection, key, json }): Change =>
        kind === 'removal' ? { kind: 'drop', collection, key } : { kind: 'put', collection, key, json },
    );
    // A whole batch is sent even if it is empty, because it makes the subscriber forget all earlier records.
    if (changes.length === 0 && !isWhole) return;
    feed.isReady = false;
    feed.send({ isWhole, changes });
  }
}

function isNeeded(subscriber: Subscriber, collection: Collection): boolean {
  return IS_NEEDED[subscriber](collection);
}

function subscriberOf(child: ChildName): Subscriber | undefined {
  return SUBSCRIBERS.find((name) => name === child);
}

interface GatewayParts {
  readonly handler: Pick<RequestHandler, 'isShutDown'>;
  readonly replies: Pick<OperationReplies, 'reply'>;
  readonly settings: RouteSettings;
  readonly log: Log;
}

/**
 * Carries out a child's request like a request over HTTP, with the same deadlines and refusals. But trust
 * (trust.ts) and `api.control` are not checked, because a child is part of the node. Never rejects. Each
 * child limits its own pending requests.
 */
export async function carryOutRequest(request: ChildRequest, parts: GatewayParts): Promise<ChildReply> {
  try {
    return childReply(await replyTo(request, parts));
  } catch (error) {
    const stack = error instanceof Error ? error.stack : undefined;
    const reason = stack ?? errorText(error);
    const facts = { operation: request.operation ?? '', reason };
    parts.log('error', 'a request failed inside the gateway', facts);
    return childReply(problemReply(problemOfError(error)));
  }
}

function replyTo(
  request: ChildRequest,
  { handler, replies, settings }: GatewayParts,
): HttpReply | Promise<HttpReply> {
  const { params = {} } = request;
  if (handler.isShutDown) return problemReply(SHUTTING_DOWN);
  // A bridge sends undefined for a parameter whose percent-encoding it cannot decode.
  if (!areTexts(params)) return problemReply(BAD_PATHS.encoding);
  if (Object.values(params).some((text) => text.includes('\0'))) return problemReply(BAD_PATHS.nul);
  // The operation is undefined if the requested name is unknown.
  if (request.operation === undefined) return problemReply(noSuchPath());
  const operation = OPERATIONS[request.operation];
  // No parameter of a path is empty over HTTP, so an empty one counts as missing.
  const hasAllParams = parametersOf(operation.path).every((parameter) => params[parameter]);
  const missingConfigKey = missingKeyFor(operation, settings);
  if (!hasAllParams || missingConfigKey !== undefined) return problemReply(noSuchPath(missingConfigKey));
  // `invalidBody` is a text that the bridge could not parse. It is parsed once more here, to get the error
  // with which HTTP refuses such a body.
  const body = request.invalidBody === undefined ? success(request.body) : parseText(request.invalidBody);
  if (!body.ok) return problemReply(body.error);
  // `GET /server` answers with `mayChange` as its member `control`. Only the child `mqtt` requests this
  // route, so the key `mqtt.control` decides.
  return replies.reply(operation, { params, mayChange: settings.mqtt.control, json: body.value });
}

function areTexts(params: Readonly<Record<string, string | undefined>>): params is Params {
  return Object.values(params).every((text) => text !== undefined);
}

function parseText(text: string): ParsedBody {
  const bytes = Buffer.from(text);
  if (bytes.byteLength > BODY_LIMIT_BYTES) return failed(BODY_TOO_LARGE);
  return parseBody('application/json', bytes);
}

function childReply({ status, body = '' }: HttpReply): ChildReply {
  return { status, body: typeof body === 'string' ? body : Buffer.from(body).toString() };
}
