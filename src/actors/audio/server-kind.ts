// Recognizes the kind of a sound server by the name that it gives itself. Pure.

import type { SoundServerKind } from '../../protocol/actor/schemas.js';
import type { ServerInfo } from '../../protocol/pulse/records.js';

/**
 * Matches the name that PipeWire gives itself, as in `PulseAudio (on PipeWire 1.4.2)`, and captures
 * PipeWire's version. The version is read from the name, because the version field of the server's info is
 * the same for all versions of PipeWire.
 */
export const PIPEWIRE_NAME = /\bPipeWire(?: ([^)\s]+))?/;

export function kindOfServer(server: ServerInfo): SoundServerKind {
  return PIPEWIRE_NAME.test(server.packageName ?? '') ? 'pipewire' : 'pulseaudio';
}
