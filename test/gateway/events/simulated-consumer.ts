// A client of the hub over simulated connections. It parses the stream by the standard. It rebuilds the state
// twice by the documented rules: once it identifies records by id, and once by name. It can lose its
// connection and reconnect. It checks that no action is lost, doubled or out of order.

import assert from 'node:assert/strict';
import type { EventHub } from '../../../src/gateway/events/hub.js';
import { parseEventQuery } from '../../../src/gateway/events/query.js';
import { type DispatchedEvent, EventStreamParser } from '../../consumer/parser.js';
import { NameModel, StateModel } from '../../consumer/state-model.js';
import type { NodeWorld } from './node-world.js';
import { SimulatedConnection } from './simulated-connection.js';

/** The journal keeps this many actions (docs/events.md, "Coming back"). */
const ACTIONS_KEPT = 1024;

export interface ConsumerTraits {
  /** Part of every query. */
  readonly filter?: string;
  /** False for an older client, which ignores the marks of a snapshot. */
  readonly heedsMarks?: boolean;
  /** If at most this many actions happen during an absence, all of them must still arrive. */
  readonly actionsKept?: number;
}

export class SimulatedConsumer {
  readonly model = new StateModel();
  readonly names: NameModel;
  readonly events: DispatchedEvent[] = [];
  connection = new SimulatedConnection();
  lastEventId = '';
  readonly #hub: EventHub;
  readonly #world: NodeWorld;
  readonly #traits: ConsumerTraits;
  #parser = new EventStreamParser('');
  #actionsAtOpen = 0;
  /** The number of the action that must come next; undefined if any number may come. */
  #nextAction: number | undefined;
  /**
   * True while the consumer has received only a part of a snapshot. If it reconnects then, it gets another
   * snapshot: the actions that it has already may come again, and later ones may be missing, because the
   * journal may have forgotten them meanwhile.
   */
  #hasPartOfSnapshot = false;
  #previousId = '';

  constructor(hub: EventHub, world: NodeWorld, traits: ConsumerTraits = {}) {
    this.#hub = hub;
    this.#world = world;
    this.#traits = traits;
    this.names = new NameModel(traits.heedsMarks);
  }

  /** Makes the consumer return with this id. The consumer may then get actions a second time. */
  setLastEventId(lastEventId: string): void {
    this.lastEventId = lastEventId;
    this.#nextAction = undefined;
  }

  /** Opens a connection; `query` as in the URL, `capacity` as in SimulatedConnection. */
  open(query: string, capacity?: number): void {
    const { filter = '' } = this.#traits;
    const parsed = parseEventQuery([filter, query].join('&'), this.lastEventId);
    assert.ok(parsed.ok);
    this.connection = new SimulatedConnection(capacity);
    this.#parser = new EventStreamParser(this.lastEventId);
    this.#actionsAtOpen = this.#world.actions;
    // Any number may come next after a part of a snapshot, or if the journal may have forgotten the expected
    // action.
    if (this.#hasPartOfSnapshot) this.#nextAction = undefined;
    this.#hasPartOfSnapshot = false;
    this.#previousId = this.lastEventId;
    if (this.#nextAction !== undefined && this.#mayBeForgotten(this.#nextAction))
      this.#nextAction = undefined;
    const stream = this.#hub.openStream(parsed.value, this.connection);
    assert.ok(stream.ok);
    this.connection.stream = stream.value;
  }

  get isOpen(): boolean {
    return this.connection.over === undefined;
  }

  read(maxBytes?: number): void {
    for (const event of this.#parser.read(this.connection.read(maxBytes))) this.#receive(event);
    this.lastEventId = this.#parser.lastEventId;
  }

  /** Reads until nothing is left. */
  readAll(): void {
    while (this.connection.buffered > 0) this.read();
  }

  checkNoActionMissing(): void {
    if (this.#nextAction !== undefined) assert.equal(this.#nextAction, this.#world.actions + 1);
  }

  #receive(event: DispatchedEvent): void {
    this.events.push(event);
    const marksBefore = this.model.marks;
    const actionsBefore = this.model.actions.length;
    this.model.apply(event);
    this.names.apply(event);
    const isMark = this.model.marks > marksBefore;
    const isAction = this.model.actions.length > actionsBefore;
    // The missed actions come before the first mark of a snapshot. So the next action after this mark is the
    // first since the stream was opened.
    if (isMark) this.#nextAction ??= this.#actionsAtOpen + 1;
    const isIdNew = event.lastEventId !== this.#previousId;
    this.#previousId = event.lastEventId;
    // Only the last event of a snapshot has an id, so the snapshot is complete when a new id comes.
    if (isIdNew) this.#hasPartOfSnapshot = false;
    else if (isMark || isAction) this.#hasPartOfSnapshot = true;
    if (!isAction) return;
    const { n: action } = JSON.parse(event.data) as { readonly n: number };
    const expected = this.#nextAction;
    if (expected !== undefined) {
      const isAllowedGap = action > expected && this.#mayBeForgotten(expected);
      if (!isAllowedGap) assert.equal(action, expected, 'actions come in order, each once');
    }
    this.#nextAction = action + 1;
  }

  /** True if so many actions have followed this one that the journal may have forgotten it. */
  #mayBeForgotten(action: number): boolean {
    const { actionsKept = ACTIONS_KEPT } = this.#traits;
    return this.#world.actions - action >= actionsKept;
  }
}
