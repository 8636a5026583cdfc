// Table of the reads: the request for each kind of record, all of them or one, and where its reply goes in the state. It sends nothing.

import type { Reply, RequestName } from '../../protocol/pulse/commands.js';
import type { SubscriptionEvent } from '../../protocol/pulse/records.js';
import type { ReadKind, RecordKind } from './refetch.js';
import type { SoundState } from './state.js';

/** A read request and where its reply is put; a list is put together with the records removed while it was read. */
export interface ReadSpec<C extends RequestName, Removed extends readonly ReadonlySet<number>[] = []> {
  readonly command: C;
  put(state: SoundState, value: Reply<C>, ...removed: Removed): void;
}

export interface ReadRequests {
  readonly server: 'GET_SERVER_INFO';
  readonly sink: 'GET_SINK_INFO_LIST';
  readonly input: 'GET_SINK_INPUT_INFO_LIST';
  readonly card: 'GET_CARD_INFO_LIST';
}

/** In the order of reading: sinks after cards, so that the outputs of a new profile are read with it or after it. */
export const KINDS: readonly ReadKind[] = ['server', 'card', 'sink', 'input'];

export interface OneRequest {
  readonly sink: 'GET_SINK_INFO';
  readonly input: 'GET_SINK_INPUT_INFO';
  readonly card: 'GET_CARD_INFO';
}

export const ALL: { readonly [K in ReadKind]: ReadSpec<ReadRequests[K], [ReadonlySet<number>]> } = {
  server: { command: 'GET_SERVER_INFO', put: (state, info) => state.putServer(info) },
  sink: { command: 'GET_SINK_INFO_LIST', put: (state, list, past) => state.replaceSinks(list, past) },
  input: {
    command: 'GET_SINK_INPUT_INFO_LIST',
    put: (state, list, past) => state.replaceInputs(list, past),
  },
  card: { command: 'GET_CARD_INFO_LIST', put: (state, list, past) => state.replaceCards(list, past) },
};

export const ONE: { readonly [K in RecordKind]: ReadSpec<OneRequest[K]> } = {
  sink: { command: 'GET_SINK_INFO', put: (state, info) => state.putSink(info) },
  input: { command: 'GET_SINK_INPUT_INFO', put: (state, info) => state.putInput(info) },
  card: { command: 'GET_CARD_INFO', put: (state, info) => state.putCard(info) },
};

/** The records that events are about. */
export const RECORDS: Readonly<Partial<Record<SubscriptionEvent['facility'], RecordKind>>> = {
  sink: 'sink',
  'sink-input': 'input',
  card: 'card',
};
