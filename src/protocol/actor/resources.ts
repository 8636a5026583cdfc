// The sources of each GET of published state, and of each such MQTT topic: backend, collections, and how their texts are joined to one
// JSON text. Pure.

import type { ChildName } from './backends.js';
import type { Collection } from './collections.js';

/** The texts of a collection's records, by rank, then in the order in which they were first put. */
export type RecordTexts = (collection: Collection) => readonly string[];

export interface ResourceSpec {
  readonly backend: ChildName;
  readonly collections: readonly Collection[];
  /** Undefined if a record is missing without which the answer would be wrong. */
  join(texts: RecordTexts): string | undefined;
}

function list(backend: ChildName, collection: Collection): ResourceSpec {
  return { backend, collections: [collection], join: (texts) => jsonArray(texts(collection)) };
}

function single(backend: ChildName, collection: Collection): ResourceSpec {
  return { backend, collections: [collection], join: (texts) => texts(collection)[0] };
}

function jsonArray(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

const AUDIO: ResourceSpec = {
  backend: 'audio',
  collections: ['audio.kind', 'audio.server', 'audio.outputs', 'audio.clients'],
  join: (texts) => {
    const [[kind], [server]] = [texts('audio.kind'), texts('audio.server')];
    if (kind === undefined || server === undefined) return undefined;
    const [outputs, clients] = [jsonArray(texts('audio.outputs')), jsonArray(texts('audio.clients'))];
    return `{"kind":${kind},"server":${server},"outputs":${outputs},"clients":${clients}}`;
  },
};

export const RESOURCES = {
  audio: AUDIO,
  'audio.server': single('audio', 'audio.server'),
  'audio.outputs': list('audio', 'audio.outputs'),
  'audio.clients': list('audio', 'audio.clients'),
  'audio.cards': list('audio', 'audio.cards'),
  services: list('systemd', 'systemd.services'),
  upgrade: single('upgrade', 'upgrade'),
  bluetooth: single('bluetooth', 'bluetooth'),
  'bluetooth.devices': list('bluetooth', 'bluetooth.devices'),
  players: list('players', 'players'),
  nodes: list('discovery', 'nodes'),
} as const satisfies Record<string, ResourceSpec>;

export type Resource = keyof typeof RESOURCES;
