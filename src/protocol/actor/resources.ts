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

function jsonArray(collection: Collection): (texts: RecordTexts) => string {
  return (texts) => `[${texts(collection).join(',')}]`;
}

function single(collection: Collection): (texts: RecordTexts) => string | undefined {
  return (texts) => texts(collection)[0];
}

const kind = single('audio.kind');
const server = single('audio.server');
const outputs = jsonArray('audio.outputs');
const clients = jsonArray('audio.clients');

function audio(texts: RecordTexts): string | undefined {
  const [kindText, serverText] = [kind(texts), server(texts)];
  if (kindText === undefined || serverText === undefined) return undefined;
  return `{"kind":${kindText},"server":${serverText},"outputs":${outputs(texts)},"clients":${clients(texts)}}`;
}

export const RESOURCES = {
  audio: {
    backend: 'audio',
    collections: ['audio.kind', 'audio.server', 'audio.outputs', 'audio.clients'],
    join: audio,
  },
  'audio.server': { backend: 'audio', collections: ['audio.server'], join: server },
  'audio.outputs': { backend: 'audio', collections: ['audio.outputs'], join: outputs },
  'audio.clients': { backend: 'audio', collections: ['audio.clients'], join: clients },
  'audio.cards': { backend: 'audio', collections: ['audio.cards'], join: jsonArray('audio.cards') },
  services: { backend: 'systemd', collections: ['systemd.services'], join: jsonArray('systemd.services') },
  upgrade: { backend: 'upgrade', collections: ['upgrade'], join: single('upgrade') },
  bluetooth: { backend: 'bluetooth', collections: ['bluetooth'], join: single('bluetooth') },
  'bluetooth.devices': {
    backend: 'bluetooth',
    collections: ['bluetooth.devices'],
    join: jsonArray('bluetooth.devices'),
  },
  players: { backend: 'players', collections: ['players'], join: jsonArray('players') },
  nodes: { backend: 'discovery', collections: ['nodes'], join: jsonArray('nodes') },
} as const satisfies Record<string, ResourceSpec>;

export type Resource = keyof typeof RESOURCES;
