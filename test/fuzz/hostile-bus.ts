// A bus that greets as a real one, knows all that bus-truth.ts does, and lies: in values, in types, in bytes, by
// silence and by signals. Until it lies, it is a bus on which every backend comes up.

import type { Socket } from 'node:net';
import { type Heard, messageBytes, scriptedBus } from '../actors/bus/scripted-bus.js';
import type { SeededRandom } from '../seeded-random.js';
import {
  AVAHI,
  type BusCall,
  dictionary,
  type Heading,
  MANAGER,
  OWNER,
  PLAYER_PROPERTIES,
  type Reply,
  SIGNALS,
  TRUTH,
  UNIT_PROPERTIES,
} from './bus-truth.js';
import { anySignature, anyValue, anyValues, packed, typesOf, type Value, Variant } from './dbus-values.js';

const [CALL, RETURN, ERROR, SIGNAL] = [1, 2, 3, 4];
/** Codes of a message's fields. */
const FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  error: 4,
  replySerial: 5,
  sender: 7,
  signature: 8,
} as const;

function callOf({ text }: Heard): BusCall {
  const bytes = Buffer.from(text, 'latin1');
  const found: Record<number, string> = {};
  const end = 16 + bytes.readUInt32LE(12);
  for (let at = 16; at < end; at = (at + 7) & ~7) {
    const code = bytes[at] ?? 0;
    const start = at + 4;
    const isSignature = bytes[at + 2] === 0x67;
    const length = isSignature ? (bytes[start] ?? 0) : bytes.readUInt32LE(start);
    const from = start + (isSignature ? 1 : 4);
    found[code] = bytes.toString('utf8', from, from + length);
    at = from + length + 1;
  }
  const body = (end + 7) & ~7;
  const hasText = found[FIELD.signature]?.startsWith('s') === true;
  const argument = hasText ? bytes.toString('utf8', body + 4, body + 4 + bytes.readUInt32LE(body)) : '';
  const { [FIELD.path]: path = '', [FIELD.interface]: iface = '', [FIELD.member]: member = '' } = found;
  return { path, interface: iface, member, argument };
}

type Fields = Parameters<typeof messageBytes>[1];

export interface HostileBus {
  readonly path: string;
  /** Every call since the last time, but those of the bus itself. */
  takeCalls(): BusCall[];
  /** Sends signals to all connections, and gives false answers from now on; it begins honest. */
  lie(signals: number): void;
  /** Ends all connections, as a bus that is started anew, and gives true answers from now on. */
  becomeHonest(): void;
  close(): Promise<void>;
}

function message(type: number, fields: Fields, signature: string, values: Value[]): Buffer {
  const signed: Fields = signature === '' ? fields : [...fields, [FIELD.signature, 'g', signature]];
  return messageBytes(type, signed, packed(signature, values));
}

function replyTo(serial: number, answer: Reply): Buffer {
  const fields: Fields = [
    [FIELD.replySerial, 'u', serial],
    [FIELD.sender, 's', OWNER],
  ];
  if ('error' in answer) return message(ERROR, [...fields, [FIELD.error, 's', answer.error]], 's', ['no']);
  const [signature, ...values] = answer;
  return message(RETURN, fields, signature, values);
}

function signalOf(
  [path, iface, member, signature]: Heading,
  values: Value[],
  sender = OWNER,
  type = SIGNAL,
): Buffer {
  const fields: Fields = [
    [FIELD.path, 'o', path],
    [FIELD.interface, 's', iface],
    [FIELD.member, 's', member],
    [FIELD.sender, 's', sender],
  ];
  return message(type, fields, signature, values);
}

const JOB_DONE = signalOf(
  ['/org/freedesktop/systemd1', MANAGER, 'JobRemoved', 'uoss'],
  [1, '/org/freedesktop/systemd1/job/1', 'player.service', 'done'],
);

/** Signals that follow an answer, by member. */
const SEQUELS: Readonly<Record<string, Buffer>> = {
  StartUnit: JOB_DONE,
  StopUnit: JOB_DONE,
  RestartUnit: JOB_DONE,
  Commit: signalOf(['/Client1/EntryGroup1', `${AVAHI}.EntryGroup`, 'StateChanged', 'is'], [2, '']),
};

const ERRORS = [
  'org.freedesktop.DBus.Error.NoReply',
  'a.b',
  'not a name',
  'org.freedesktop.Avahi.CollisionError',
];

/** One value of the answer is another of its type, or all are of other types. */
function falseAnswer(answer: Reply, random: SeededRandom): Reply {
  if ('error' in answer || random.chance(0.15)) {
    return { error: random.pick(ERRORS) };
  }
  const [signature, ...values] = answer;
  if (random.chance(0.2)) {
    const other = anySignature(random);
    return [other, ...anyValues(other, random)];
  }
  if (signature === 'a{sv}' && random.chance(0.9))
    return [signature, falseEntries(values[0] as Value[], random)];
  return [signature, ...typesOf(signature).map((type) => anyValue(type, random))];
}

/** Changes a dictionary: some entries have other values, of their type or of none, and some are missing. */
function falseEntries(entries: readonly Value[], random: SeededRandom): Value[] {
  const changed = entries.flatMap((entry): Value[] => {
    const [key, variant] = entry as [string, Variant];
    if (random.chance(0.1)) return [];
    if (random.chance(0.6)) return [entry];
    const signature = random.chance(0.7) ? variant.signature : anySignature(random);
    return [[key, new Variant(signature, anyValue(typesOf(signature)[0] as never, random))]];
  });
  return [...changed, ['__proto__', new Variant('s', 'x')]];
}

/** Bytes that are not those of a message any more, or of another one. */
function damaged(bytes: Buffer, random: SeededRandom): Buffer {
  const wrong = Buffer.from(bytes);
  const at = random.below(bytes.length);
  if (random.chance(0.3)) return wrong.subarray(0, at);
  if (random.chance(0.3))
    wrong.writeUInt32LE(
      random.pick([0, 1, 0xff, 4 << 20, 0x7fffffff, 0xffffffff]),
      Math.min(at & ~3, bytes.length - 4),
    );
  else wrong[at] = random.below(256);
  return wrong;
}

function anySignal(random: SeededRandom): Buffer {
  const [path, iface, member, signature] = random.pick(SIGNALS);
  const sender = random.chance(0.9) ? (iface === 'org.freedesktop.DBus' ? iface : OWNER) : ':1.66';
  const said = random.chance(0.9) ? signature : anySignature(random);
  const values = anyValues(said, random);
  if (member === 'PropertiesChanged' && said === signature) {
    const isPlayer = path.startsWith('/org/mpris');
    values[0] = isPlayer ? 'org.mpris.MediaPlayer2.Player' : 'org.freedesktop.systemd1.Unit';
    values[1] = falseEntries(dictionary(isPlayer ? PLAYER_PROPERTIES : UNIT_PROPERTIES) as Value[], random);
  }
  return signalOf([path, iface, member, said], values, sender, random.chance(0.95) ? SIGNAL : CALL);
}

/** How often it lies; the rest is true. */
export interface Lies {
  readonly answers: number;
  readonly silence: number;
  readonly bytes: number;
  readonly signals: number;
}

export async function hostileBus(random: SeededRandom, lies: Lies): Promise<HostileBus> {
  let isHonest = true;
  const calls: BusCall[] = [];
  const sockets = new Set<Socket>();

  const answer = (socket: Socket, heard: Heard): void => {
    const call = callOf(heard);
    if (call.interface !== 'org.freedesktop.DBus') calls.push(call);
    const truth = TRUTH[call.member]?.(call) ?? [''];
    const sequel = SEQUELS[call.member] ?? Buffer.alloc(0);
    if (isHonest) {
      socket.write(Buffer.concat([replyTo(heard.serial, truth), sequel]));
      return;
    }
    while (random.chance(lies.signals)) socket.write(anySignal(random));
    if (random.chance(lies.silence)) return;
    const told = random.chance(lies.answers) ? falseAnswer(truth, random) : truth;
    const bytes = replyTo(random.chance(0.98) ? heard.serial : random.below(500), told);
    socket.write(random.chance(lies.bytes) ? damaged(bytes, random) : bytes);
    if (random.chance(0.02)) socket.write(bytes);
    if (!random.chance(lies.answers)) socket.write(sequel);
  };

  const bus = await scriptedBus(() => ({
    call: (socket, heard) => {
      sockets.add(socket);
      if (!socket.destroyed) answer(socket, heard);
    },
  }));
  return {
    path: bus.path,
    takeCalls: () => calls.splice(0),
    lie: (signals) => {
      isHonest = false;
      for (const socket of sockets) {
        for (let left = signals; left > 0 && !socket.destroyed; left -= 1) {
          const bytes = anySignal(random);
          socket.write(random.chance(lies.bytes / 10) ? damaged(bytes, random) : bytes);
        }
      }
    },
    becomeHonest: () => {
      isHonest = true;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    close: () => bus.close(),
  };
}
