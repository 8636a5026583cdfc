// The arguments of a record stream as libpulse sends them for a peak meter: those of test/golden/client-peak-request.bin.

import type { RequestArgs } from '../../../src/protocol/pulse/commands.js';

export const PEAKS: RequestArgs<'CREATE_RECORD_STREAM'> = {
  sampleSpec: { format: 5, channels: 2, rate: 25 },
  channelMap: [1, 2],
  source: 3,
  maxLength: undefined,
  corked: false,
  fragmentLength: 8,
  noRemap: false,
  noRemix: false,
  fixFormat: false,
  fixRate: false,
  fixChannels: false,
  noMove: true,
  variableRate: false,
  peakDetect: true,
  adjustLatency: true,
  props: { 'media.name': 'Peak detect' },
  directOnInput: undefined,
  earlyRequests: false,
  noInhibitAutoSuspend: true,
  failOnSuspend: false,
  formats: [],
  volume: [0x10000, 0x10000],
  muted: false,
  volumeSet: false,
  mutedSet: false,
  relativeVolume: false,
  passthrough: false,
};
