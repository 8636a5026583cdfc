// Faults of the services around the daemon: each service is killed, halted, and restarted.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildName } from '../../../src/protocol/actor/backends.js';
import { NODE_ROOT } from '../node.js';
import {
  type Fault,
  inTurn,
  kill,
  type Scope,
  type Step,
  sendSignal,
  systemctl,
  untilNoticed,
  untilTwoRounds,
} from './fault.js';

interface ServiceRow {
  readonly part: string;
  readonly scope: Scope;
  readonly unit: string;
  /** The children that may go away because of any fault of the unit. */
  readonly mayGo: readonly ChildName[];
  /** The child that notices when the unit is halted for long. */
  readonly noticedBy?: ChildName;
  /** Further children that may go away while the unit is halted. */
  readonly mayGoWhileHalted?: readonly ChildName[];
  /** Further children that may go away when the unit is restarted. */
  readonly mayGoAtRestart?: readonly ChildName[];
  /** True if nobody starts the unit again after a kill. */
  readonly staysDown?: boolean;
  /** Repairs other programs that do not reconnect by themselves after the unit's restart. */
  readonly repair?: Step;
  readonly upWithinMs?: number;
}

/**
 * A silent broker is noticed 20 s after a message that it does not acknowledge. Attempts to connect are then
 * up to 30 s apart.
 */
export const RECONNECTED_WITHIN_MS = 60_000;
/** PipeWire's sound server may wait 25 s for rtkit before it answers, because a container may lack rtkit. */
export const RTKIT_MS = 60_000;

/**
 * If rtkit is installed, PulseAudio calls it for each new output, rtkit calls polkit, and both wait for the
 * answer. While polkit stands still, PulseAudio 16.1 therefore answers nobody, not even pactl (in 6 of 6
 * attempts). Without rtkit the bus answers PulseAudio at once, and nobody waits.
 */
const HAS_RTKIT = existsSync(join(NODE_ROOT, 'usr/libexec/rtkit-daemon'));
const WITH_RTKIT = HAS_RTKIT ? ({ mayGoWhileHalted: ['audio'], upWithinMs: RTKIT_MS } as const) : {};

const ROWS: readonly ServiceRow[] = [
  {
    part: 'the session bus',
    scope: 'user',
    unit: 'dbus.service',
    mayGo: ['systemd', 'upgrade', 'players'],
    // PipeWire's unit of Debian 13 requires this bus, and systemd restarts both.
    mayGoAtRestart: ['audio'],
    upWithinMs: RTKIT_MS,
    staysDown: true,
  },
  {
    part: 'the system bus',
    scope: 'system',
    unit: 'dbus.service',
    mayGo: ['systemd', 'power', 'discovery', 'bluetooth'],
    // PulseAudio asks rtkit over this bus for each new output, and answers nobody until rtkit has answered.
    // PulseAudio does so without tonearm, too.
    mayGoWhileHalted: ['audio'],
    staysDown: true,
    // logind of systemd 257 does not find the new bus by itself, and without logind no user manager starts.
    // avahi-daemon ends with its bus, and its unit does not start it again.
    repair: systemctl('system', 'restart', 'systemd-logind.service', 'avahi-daemon.service'),
  },
  { part: 'logind', scope: 'system', unit: 'systemd-logind.service', mayGo: ['power'] },
  {
    part: 'polkit',
    scope: 'system',
    unit: 'polkit.service',
    mayGo: ['power'],
    staysDown: true,
    ...WITH_RTKIT,
  },
  { part: 'BlueZ', scope: 'system', unit: 'bluetooth.service', mayGo: ['bluetooth'] },
  { part: 'avahi', scope: 'system', unit: 'avahi-daemon.service', mayGo: ['discovery'], staysDown: true },
  {
    part: 'the broker',
    scope: 'system',
    unit: 'broker.service',
    mayGo: ['mqtt'],
    noticedBy: 'mqtt',
    upWithinMs: RECONNECTED_WITHIN_MS,
  },
  { part: 'the player', scope: 'user', unit: 'player.service', mayGo: [] },
];

function faultsOf(row: ServiceRow): Fault[] {
  const { part, scope, unit, mayGo, noticedBy, repair, upWithinMs } = row;
  const name = `${part} (${unit})`;
  const halt = sendSignal('STOP', scope, unit);
  const resume = sendSignal('CONT', scope, unit);
  const startAgain = row.staysDown === true ? systemctl(scope, 'start', unit) : undefined;
  const mayGoWhileHalted = [...mayGo, ...(row.mayGoWhileHalted ?? [])];
  const faults: Fault[] = [
    {
      name: `${name} is killed`,
      part,
      do: kill(scope, unit),
      undo: inTurn(startAgain, repair),
      mayGo,
      upWithinMs,
    },
    {
      name: `${name} stands still`,
      part,
      do: inTurn(halt, untilTwoRounds),
      undo: resume,
      mayGo: mayGoWhileHalted,
      upWithinMs,
    },
    {
      name: `${name} is restarted`,
      part,
      do: systemctl(scope, 'restart', unit),
      undo: inTurn(repair),
      mayGo: [...mayGo, ...(row.mayGoAtRestart ?? [])],
      upWithinMs,
    },
  ];
  if (noticedBy === undefined) return faults;
  const haltedForLong: Fault = {
    name: `${name} stands still until that is noticed`,
    part,
    do: inTurn(halt, untilNoticed(noticedBy)),
    undo: resume,
    mayGo: mayGoWhileHalted,
    upWithinMs: RECONNECTED_WITHIN_MS,
    isSlow: true,
  };
  return [...faults, haltedForLong];
}

const SESSION_MANAGER = 'wireplumber.service';

/** PipeWire locks up if a program plays during this fault. `FaultedNode.restartStuckSound` says why. */
const PIPEWIRE_LOCKED: Fault = {
  name: `${SESSION_MANAGER} is restarted while the sound server stands still`,
  part: 'the sound server',
  do: inTurn(
    ({ faultedNode }) => faultedNode.signal('STOP', 'user', faultedNode.soundUnit),
    systemctl('user', 'restart', SESSION_MANAGER),
    untilTwoRounds,
    ({ faultedNode }) => faultedNode.signal('CONT', 'user', faultedNode.soundUnit),
    untilTwoRounds,
  ),
  mayGo: ['audio'],
  upWithinMs: RTKIT_MS,
  isSlow: true,
};

/** Returns the faults of all services. `soundUnits` are the units of the node's sound server. */
export function serviceFaults(soundUnits: readonly string[]): readonly Fault[] {
  const sound = soundUnits.map((unit): ServiceRow => {
    // The daemon is connected to pulseaudio or to pipewire-pulse.
    const isDaemonsPeer = /pulse/.test(unit);
    return {
      part: 'the sound server',
      scope: 'user',
      unit,
      mayGo: ['audio'],
      upWithinMs: RTKIT_MS,
      ...(isDaemonsPeer && { noticedBy: 'audio' }),
    };
  });
  const locked = soundUnits.includes(SESSION_MANAGER) ? [PIPEWIRE_LOCKED] : [];
  return [...sound.flatMap(faultsOf), ...ROWS.flatMap(faultsOf), ...locked];
}
