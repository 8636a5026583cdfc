// A valid body of each kind, for documents and tests.

import type { BodyName, BodyOf } from '../../src/protocol/actor/schemas.js';

export const EXAMPLE_BODIES: { readonly [K in BodyName]: BodyOf<K> } = {
  mute: { muted: true },
  volume: { volume: 0.4 },
  port: { port: 'analog-output-headphones' },
  profile: { profile: 'output:hdmi-stereo' },
  balance: { balance: -0.2 },
  makeDefault: { move: true },
  sleep: { minutes: 30, fade: 10 },
  move: { output: 'kitchen' },
  stopListening: { output: 'kitchen' },
  seek: { offset: -10_000_000 },
  position: { position: 60_000_000 },
  setVolume: { volume: 0.8 },
  loop: { loop: 'Playlist' },
  shuffle: { shuffle: true },
  addTrack: { uri: 'http://radio.example/stream', set_as_current: true },
  device: { address: 'AA:BB:CC:DD:EE:FF' },
};
