// A scripted bus. A fuzzed node has two: one as the user's bus, and one as the system's. Each has systemd,
// logind and a player. They answer only what the backends need in order to be up. Every call is recorded.

import type { ReceivedCall, ScriptedBus, Value } from '../actors/bus/scripted-bus.js';
import { errorReply, reply, scriptedBus } from '../actors/bus/scripted-bus.js';

const OWNER = ':1.2';
const OWNED_NAMES = ['org.freedesktop.systemd1', 'org.freedesktop.login1', 'org.mpris.MediaPlayer2.one'];
const JOB = '/org/freedesktop/systemd1/job/1';
/** The manager, its units and the player all have these properties. A backend reads only what it needs. */
const PROPERTIES = [
  ['UserspaceTimestampMonotonic', ['t', 17]],
  ['LoadState', ['s', 'loaded']],
  ['ActiveState', ['s', 'active']],
  ['PlaybackStatus', ['s', 'Playing']],
];

type Answer = readonly [signature?: string, ...values: Value[]];

const ANSWER_BY_METHOD: Readonly<Record<string, Answer>> = {
  ListNames: ['as', [OWNER, ...OWNED_NAMES]],
  GetConnectionUnixProcessID: ['u', 4711],
  GetAll: ['a{sv}', PROPERTIES],
  GetUnitFileState: ['s', 'enabled'],
  StartUnit: ['o', JOB],
  StopUnit: ['o', JOB],
  RestartUnit: ['o', JOB],
  EnableUnitFiles: ['ba(sss)', true, []],
  DisableUnitFiles: ['a(sss)', []],
  CanReboot: ['s', 'yes'],
  CanPowerOff: ['s', 'yes'],
  ListInhibitors: ['a(ssssuu)', []],
};

function answerTo({ serial, text }: ReceivedCall): Buffer {
  const isCalled = (member: string): boolean => text.includes(`\0${member}\0`);
  if (isCalled('GetNameOwner')) {
    const isOwned = OWNED_NAMES.some((name) => text.includes(name));
    return isOwned
      ? reply(serial, 's', OWNER)
      : errorReply(serial, 'org.freedesktop.DBus.Error.NameHasNoOwner');
  }
  const answer = Object.entries(ANSWER_BY_METHOD).find(([member]) => isCalled(member))?.[1] ?? [];
  return reply(serial, ...answer);
}

export const honestBus = (): Promise<ScriptedBus> =>
  scriptedBus(() => ({ call: (socket, received) => socket.write(answerTo(received)) }));
