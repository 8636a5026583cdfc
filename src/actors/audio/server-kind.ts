// Recognizes the kind of a sound server by the name that it gives itself. Pure.

import type { SoundServerKind } from '../../protocol/actor/schemas.js';
import type { ServerInfo } from '../../protocol/pulse/records.js';

/**
 * The name that PipeWire gives itself, with its version. The version in the server's info is not
 * PipeWire's, but a constant.
 */
export const PIPEWIRE = /\bPipeWire(?: ([^)\s]+))?/;

export function kindOfServer(server: ServerInfo): SoundServerKind {
  return PIPEWIRE.test(server.packageName ?? '') ? 'pipewire' : 'pulseaudio';
}
