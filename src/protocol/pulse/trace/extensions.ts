// Tables for EXTENSION: the commands of PulseAudio's three modules that clients such as pavucontrol use (their ext-*.c, and the modules'
// own files). Each module numbers its commands from 0.

import { bool, counted, countedByte, everyOf, excerpt, index, u32, volumes } from '../fields.js';
import { deviceType, encoding, type Fields, group, nameList, positions, updateMode } from './kinds.js';
import type { Message } from './messages.js';

const subcommand = (name: string, fields: Fields = {}, reply: Fields = {}): Message => ({
  name,
  fields,
  reply,
});

const TEST = subcommand('TEST', {}, { version: u32 });
const SUBSCRIBE = subcommand('SUBSCRIBE', { enabled: bool });

const STREAM_ENTRIES = everyOf(
  group({ name: excerpt, channelMap: positions, volume: volumes, device: excerpt, muted: bool }),
);

const DEVICE_ENTRIES = everyOf(
  group({
    name: excerpt,
    description: excerpt,
    icon: excerpt,
    index,
    priorities: counted(group({ role: excerpt, priority: u32 })),
  }),
);

const DEVICE: Fields = { type: deviceType, index };
const DEVICE_FORMATS: Fields = { ...DEVICE, formats: countedByte(encoding) };
const ALL_FORMATS: Fields = { devices: everyOf(group(DEVICE_FORMATS)) };

/** By the module's name; each command at the index of its number. */
export const EXTENSIONS: ReadonlyMap<string, readonly Message[]> = new Map([
  [
    'module-stream-restore',
    [
      TEST,
      subcommand('READ', {}, { entries: STREAM_ENTRIES }),
      subcommand('WRITE', { mode: updateMode, apply: bool, entries: STREAM_ENTRIES }),
      subcommand('DELETE', { names: nameList }),
      SUBSCRIBE,
      subcommand('EVENT'),
    ],
  ],
  [
    'module-device-manager',
    [
      TEST,
      subcommand('READ', {}, { entries: DEVICE_ENTRIES }),
      subcommand('RENAME', { device: excerpt, description: excerpt }),
      subcommand('DELETE', { names: nameList }),
      subcommand('ROLE_DEVICE_PRIORITY_ROUTING', { enabled: bool }),
      subcommand('REORDER', { role: excerpt, devices: counted(excerpt) }),
      SUBSCRIBE,
      subcommand('EVENT'),
    ],
  ],
  [
    'module-device-restore',
    [
      TEST,
      SUBSCRIBE,
      subcommand('EVENT', DEVICE),
      subcommand('READ_FORMATS_ALL', {}, ALL_FORMATS),
      subcommand('READ_FORMATS', DEVICE, ALL_FORMATS),
      subcommand('SAVE_FORMATS', DEVICE_FORMATS),
    ],
  ],
]);
