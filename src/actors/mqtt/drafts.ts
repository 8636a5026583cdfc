// Drafts of Home Assistant's entities, and how names become key parts and shown names. Pure.

import { createHash } from 'node:crypto';
import type { ChildName } from '../../protocol/actor/backends.js';
import type {
  AudioServerRecord,
  BluetoothRecord,
  CardRecord,
  OutputRecord,
  PlayerRecord,
  ServiceRecord,
} from '../../protocol/actor/schemas.js';
import { capped } from '../text.js';

export type Component = Readonly<Record<string, unknown>> & { readonly platform: string };

export type Entities = ReadonlyMap<string, Component>;

/** The things that become entities, from backends that are up. */
export interface EntitySources {
  readonly identifier: string;
  readonly topic: string;
  /** False: entities that only send commands are left out, and the others are read-only. */
  readonly control: boolean;
  readonly children: readonly ChildName[];
  readonly server: AudioServerRecord | undefined;
  readonly outputs: readonly OutputRecord[];
  readonly cards: readonly CardRecord[];
  readonly services: readonly ServiceRecord[];
  readonly players: readonly PlayerRecord[];
  readonly power: { readonly reboot: boolean; readonly power_off: boolean };
  readonly canUpgrade: boolean;
  readonly bluetooth: BluetoothRecord | undefined;
}

export interface Draft {
  readonly key: string;
  readonly platform: string;
  readonly name: string;
  readonly rest: Readonly<Record<string, unknown>>;
  /** A further condition for its availability. */
  readonly also?: { readonly topic: string; readonly value_template: string };
}

/** A longer name is cut where it is shown. */
const NAME_CHARS_MAX = 100;
const SLUG_CHARS_MAX = 64;
const HASH_CHARS = 8;

/** Cut to whole characters: half a character, cut off or received, makes Home Assistant refuse the whole device. */
export function shownName(name: string): string {
  return capped(Buffer.from(name).toString(), NAME_CHARS_MAX);
}

export const SIMPLE = /^[a-zA-Z0-9_-]{1,64}$/;
export const SIMPLE_UNIT = /^[a-zA-Z0-9_-]{1,64}\.[a-z]+$/;

/** A name as part of a key (letters, digits, _ and - only). Names that do not match `simple` get a hash, so that no two are equal. */
export function slugOf(name: string, simple: RegExp): string {
  const slug = name.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (simple.test(name)) return slug;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
  return `${slug.slice(0, SLUG_CHARS_MAX)}_${hash}`;
}
