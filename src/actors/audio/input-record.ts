// Makes the record of an input from a source of the sound server (docs/http-api.md, "Input"). Pure.

import type { InputRecord } from '../../protocol/actor/schemas.js';
import { balanceOf, loudestFractionOf } from '../../protocol/pulse/volume.js';
import { stateName } from './device-states.js';
import type { KnownSource } from './sources.js';
import { type Encodable, nonEmpty, type PropertyCache, portsOf } from './view.js';

/** The parts of an input's record that do not come from its source. */
export interface InputSurroundings {
  readonly isDefault: boolean;
  /** The name of the input's card. */
  readonly card: string | undefined;
  /** Names of the outputs at which the input is heard. */
  readonly listen: readonly string[];
}

export function inputRecord(
  { info, balance: rememberedParts }: KnownSource,
  { isDefault, card, listen }: InputSurroundings,
  propertyCache: PropertyCache,
): Encodable<InputRecord> {
  return {
    id: info.index,
    name: info.name,
    description: info.description || info.name,
    muted: info.muted,
    volume: loudestFractionOf(info.volume),
    state: stateName(info.state) ?? 'unknown',
    default: isDefault,
    driver: nonEmpty(info.driver),
    active_port: nonEmpty(info.activePort),
    ports: info.ports.length > 0 ? portsOf(info.ports) : undefined,
    card: nonEmpty(card),
    props: propertyCache.partsOf(info.props).props,
    // The volumes of silent channels show no balance, so the remembered channel parts are preferred.
    balance: balanceOf(rememberedParts ?? info.volume, info.channelMap),
    listen: listen.length > 0 ? [...listen] : undefined,
  };
}
