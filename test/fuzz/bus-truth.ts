// The parties behind an honest bus: a manager of units, a logind, an Avahi and a player, all of one connection, and a player of
// another; their answers, and the signals that clients subscribe to.

import { type Value, Variant } from './dbus-values.js';

export const OWNER = ':1.2';
const OTHER_OWNER = ':1.3';
export const PLAYERS = ['org.mpris.MediaPlayer2.one', 'org.mpris.MediaPlayer2.two'];
const NAMES = [...['systemd1', 'login1', 'Avahi'].map((name) => `org.freedesktop.${name}`), ...PLAYERS];
const UNIT = '/org/freedesktop/systemd1/unit/player_2eservice';

export interface BusCall {
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** The first argument, where it is text. */
  readonly argument: string;
}

export type Reply = readonly [signature: string, ...values: Value[]] | { readonly error: string };

export const dictionary = (entries: Readonly<Record<string, readonly [string, Value]>>): Value =>
  Object.entries(entries).map(([key, [signature, value]]) => [key, new Variant(signature, value)]);

export const UNIT_PROPERTIES = {
  Id: ['s', 'player.service'],
  Names: ['as', ['player.service']],
  Description: ['s', 'A player'],
  LoadState: ['s', 'loaded'],
  ActiveState: ['s', 'active'],
  SubState: ['s', 'running'],
  InvocationID: ['ay', Array.from({ length: 16 }, (_, at) => at)],
  Job: ['(uo)', [0, '/']],
  ConditionResult: ['b', true],
  ConditionTimestamp: ['t', 1],
  StateChangeTimestamp: ['t', 2],
  InactiveEnterTimestamp: ['t', 0],
  InactiveExitTimestamp: ['t', 2],
  Result: ['s', 'success'],
  NRestarts: ['u', 0],
} as const;

export const PLAYER_PROPERTIES = {
  Identity: ['s', 'One'],
  CanRaise: ['b', false],
  PlaybackStatus: ['s', 'Playing'],
  LoopStatus: ['s', 'None'],
  Rate: ['d', 1],
  Shuffle: ['b', false],
  Metadata: ['a{sv}', dictionary({ 'xesam:title': ['s', 'Song'], 'mpris:length': ['x', 1_000_000] })],
  Volume: ['d', 0.5],
  Position: ['x', 1000],
  CanPlay: ['b', true],
  CanControl: ['b', true],
} as const;

/** The answers of an honest bus, by member. */
export const TRUTH: Readonly<Record<string, (call: BusCall) => Reply>> = {
  AddMatch: () => [''],
  RemoveMatch: () => [''],
  GetNameOwner: ({ argument }) =>
    NAMES.includes(argument)
      ? ['s', argument === PLAYERS[1] ? OTHER_OWNER : OWNER]
      : { error: 'org.freedesktop.DBus.Error.NameHasNoOwner' },
  ListNames: () => ['as', ['org.freedesktop.DBus', OWNER, ...NAMES]],
  GetConnectionUnixProcessID: () => ['u', 4711],
  GetAll: ({ path }) =>
    path.startsWith('/org/mpris')
      ? ['a{sv}', dictionary(PLAYER_PROPERTIES)]
      : ['a{sv}', dictionary({ ...UNIT_PROPERTIES, UserspaceTimestampMonotonic: ['t', 17] })],
  LoadUnit: () => ['o', UNIT],
  GetUnitFileState: () => ['s', 'enabled'],
  StartUnit: () => ['o', '/org/freedesktop/systemd1/job/1'],
  StopUnit: () => ['o', '/org/freedesktop/systemd1/job/1'],
  RestartUnit: () => ['o', '/org/freedesktop/systemd1/job/1'],
  EnableUnitFiles: () => ['ba(sss)', true, []],
  DisableUnitFiles: () => ['a(sss)', []],
  CanReboot: () => ['s', 'yes'],
  CanPowerOff: () => ['s', 'challenge'],
  ListInhibitors: () => ['a(ssssuu)', []],
  GetState: () => ['i', 2],
  GetAlternativeServiceName: ({ argument }) => ['s', `${argument.slice(0, 20)} #2`],
  EntryGroupNew: () => ['o', '/Client1/EntryGroup1'],
  ServiceBrowserNew: () => ['o', '/Client1/ServiceBrowser1'],
};

export const MANAGER = 'org.freedesktop.systemd1.Manager';
export const AVAHI = 'org.freedesktop.Avahi';
/** Signals that are listened to: path, interface, member, signature. */
export const SIGNALS: readonly Heading[] = [
  ['/org/freedesktop/systemd1', MANAGER, 'JobNew', 'uos'],
  ['/org/freedesktop/systemd1', MANAGER, 'JobRemoved', 'uoss'],
  ['/org/freedesktop/systemd1', MANAGER, 'UnitRemoved', 'so'],
  ['/org/freedesktop/systemd1', MANAGER, 'UnitFilesChanged', ''],
  ['/org/freedesktop/systemd1', MANAGER, 'Reloading', 'b'],
  [UNIT, 'org.freedesktop.DBus.Properties', 'PropertiesChanged', 'sa{sv}as'],
  ['/org/mpris/MediaPlayer2', 'org.freedesktop.DBus.Properties', 'PropertiesChanged', 'sa{sv}as'],
  ['/org/mpris/MediaPlayer2', 'org.mpris.MediaPlayer2.Player', 'Seeked', 'x'],
  ['/org/freedesktop/DBus', 'org.freedesktop.DBus', 'NameOwnerChanged', 'sss'],
  ['/', `${AVAHI}.Server`, 'StateChanged', 'is'],
  ['/Client1/EntryGroup1', `${AVAHI}.EntryGroup`, 'StateChanged', 'is'],
  ['/org/freedesktop/login1', 'org.freedesktop.login1.Manager', 'PrepareForShutdown', 'b'],
];
export type Heading = readonly [path: string, iface: string, member: string, signature: string];
