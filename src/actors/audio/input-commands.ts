// Plans which request to the sound server a command for an input needs, from the state as last read. Pure.

import { channelsOf, loudestOf, partsOf } from '../../protocol/pulse/volume.js';
import {
  channelsAt,
  faultOf,
  faultPlan,
  NOTHING,
  notFound,
  type SettingPlan,
  type SoundCommand,
  setPlan,
  volumeAfter,
} from './setting-plan.js';
import type { KnownSource, Sources } from './sources.js';

type OfInput<C> = Extract<C, { readonly input: string }>;
export type InputCommand = OfInput<SoundCommand>;
type LevelCommand = Extract<SoundCommand, { readonly do: 'mute' | 'volume' | 'delta' }>;

/** A port, a balance, or the default input. */
export function planForInput(sources: Sources, command: InputCommand): SettingPlan {
  const source = sources.find(command.input);
  if (source === undefined) return notFound('input', command.input);
  switch (command.do) {
    case 'port':
      return planPort(source, command.port);
    case 'balance':
      return planBalance(source, command.balance);
    case 'default':
      return planDefault(sources, source);
  }
}

/** A mute, a volume, or a step. */
export function planInputLevel(sources: Sources, ref: string, command: LevelCommand): SettingPlan {
  const source = sources.find(ref);
  if (source === undefined) return notFound('input', ref);
  const { index, muted, volume } = source.info;
  switch (command.do) {
    case 'mute': {
      const args = { index, muted: command.muted ?? !muted };
      return setPlan({ command: 'SET_SOURCE_MUTE', args }, 'source', index);
    }
    case 'volume':
      return planVolume(source, Math.min(1, Math.max(0, command.volume)));
    case 'delta':
      return planVolume(source, volumeAfter(command.delta, volume));
  }
}

/** `desired` is undefined if the volume is to stay unchanged. */
function planVolume({ info, balance }: KnownSource, desired: number | undefined): SettingPlan {
  if (desired === undefined) return NOTHING;
  const args = { index: info.index, volume: channelsAt(desired, info.volume, balance) };
  return setPlan({ command: 'SET_SOURCE_VOLUME', args }, 'source', info.index);
}

function planPort({ info: { index, ports } }: KnownSource, port: string): SettingPlan {
  const basis = { of: 'source', index } as const;
  if (ports.length === 0) return faultOf(basis, 'no-ports', 'The input has no ports to switch between');
  if (!ports.some(({ name }) => name === port))
    return faultOf(basis, 'no-such-port', `The input has no port ${JSON.stringify(port)}`);
  return setPlan({ command: 'SET_SOURCE_PORT', args: { index, port } }, 'source', index);
}

function planBalance({ info: { index, volume, channelMap } }: KnownSource, desired: number): SettingPlan {
  const balance = partsOf(desired, channelMap);
  if (balance === undefined)
    return faultPlan('not-stereo', 'The input needs exactly two channels, left and right');
  const args = { index, volume: channelsOf(balance, loudestOf(volume)) };
  const plan = setPlan({ command: 'SET_SOURCE_VOLUME', args }, 'source', index);
  return { ...plan, remember: balance };
}

/** Both servers know the default by its name alone. */
function planDefault(sources: Sources, { info: { index, name } }: KnownSource): SettingPlan {
  const other = sources.all.find(({ info }) => info.name === name && info.index !== index);
  if (other === undefined) return setPlan({ command: 'SET_DEFAULT_SOURCE', args: { name } }, 'server');
  const detail = `Input ${other.info.index} is called ${JSON.stringify(name)}, too, and the sound server knows the default only by name`;
  return faultOf({ of: 'source', index: other.info.index }, 'same-name', detail);
}
