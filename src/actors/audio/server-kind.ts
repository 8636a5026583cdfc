// Recognizes the kind of a sound server by the name that it gives itself. Pure.

import type { SoundServerKind } from '../../protocol/actor/schemas.js';
import type { ServerInfo } from '../../protocol/pulse/records.js';

/**
 * How PipeWire's sound server introduces itself. Its protocol-level version is a constant; the real version
 * is in this text.
 */
export const PIPEWIRE = /\bPipeWire(?: ([^)\s]+))?/;

export function kindOfServer(server: ServerInfo): SoundServerKind {
  return PIPEWIRE.test(server.packageName ?? '') ? 'pipewire' : 'pulseaudio';
}
