// A card as the scripted server lists it: bytes written by hand, like all of its own.

import { properties, string, u32 } from '../../sound/packet.js';

const NONE = 0xffffffff;

export interface CardFields {
  readonly profiles: readonly (readonly [name: string, sinks: number, available: number])[];
  readonly activeProfile?: string;
  readonly ports?: readonly (readonly [name: string, available: number, profiles: readonly string[]])[];
}

export const cardFields = (
  index: number,
  name: string | undefined,
  { profiles, activeProfile, ports = [] }: CardFields,
): Buffer =>
  Buffer.concat([
    ...[u32(index), string(name), u32(NONE), string('alsa'), u32(profiles.length)],
    ...profiles.flatMap(([profile, sinks, available]) => [
      ...[string(profile), string(`Profile ${profile}`), u32(sinks), u32(0), u32(0), u32(available)],
    ]),
    ...[string(activeProfile), properties({ 'device.description': 'The card' }), u32(ports.length)],
    ...ports.flatMap(([port, available, of]) => [
      ...[string(port), string(`Port ${port}`), u32(0), u32(available), Buffer.from('B\u0001')],
      ...[properties({ 'port.type': 'hdmi' }), u32(of.length), ...of.map((each) => string(each))],
      ...[Buffer.from('r'), Buffer.alloc(8)],
    ]),
  ]);
