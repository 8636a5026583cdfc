// A scripted sound server with a card of two profiles, and an output and an input of two ports each. Its
// profile and its ports can be switched. It is scripted because a real sound server has no card on a machine
// without sound hardware; the emulated machine has real cards.

import {
  bytesOf,
  COMMAND,
  event,
  ordinaryExcept,
  scriptedServer,
} from '../../actors/audio/scripted-server.js';
import { props, source, text, textProp, u32 } from '../../protocol/pulse/bytes.js';
import type { Ending } from '../daemon.js';

const CARD = 3;
const NO_INDEX = 0xffffffff;
const PROFILES = ['stereo', 'surround'];
const PORTS = [
  ['speakers', 2],
  ['line', 2],
] as const;

function cardFields(active: string) {
  const profiles = PROFILES.flatMap((name) => [
    text(name),
    text(`Profile ${name}`),
    u32(1), // outputs
    u32(0), // inputs
    u32(1), // priority
    u32(1), // available
  ]);
  const head = [u32(CARD), text('dac'), u32(NO_INDEX), text('alsa'), u32(PROFILES.length)];
  const rest = [text(active), props(textProp('device.description', 'The card')), u32(0)];
  return [...head, ...profiles, ...rest].flat();
}

export type CardServer = Awaited<ReturnType<typeof startCardServer>>;

export async function startCardServer(t: Ending) {
  const now = { profile: 'stereo', port: 'speakers', inputPort: 'rear', hasCard: true };
  const inputPorts = ['rear', 'front'].map((name) => [text(name), text(null), u32(0), u32(2)].flat());
  const input = () => source({ name: 'line-in', ports: inputPorts, activePort: now.inputPort });
  const sink = () => bytesOf.sink(0, 'living', { card: CARD, ports: PORTS, activePort: now.port });
  const textIn = (fields: Buffer): string => /t([a-z]+)\0$/.exec(fields.toString('latin1'))?.[1] ?? '';
  const handler = ordinaryExcept({
    [COMMAND.getSinks]: ({ tag }, responder) => responder.reply(tag, sink()),
    [COMMAND.getSink]: ({ tag }, responder) => responder.reply(tag, sink()),
    [COMMAND.getSources]: ({ tag }, responder) => responder.reply(tag, input()),
    [COMMAND.getSource]: ({ tag }, responder) => responder.reply(tag, input()),
    [COMMAND.getCards]: ({ tag }, responder) =>
      now.hasCard ? responder.reply(tag, cardFields(now.profile)) : responder.reply(tag),
    [COMMAND.getCard]: ({ tag }, responder) =>
      now.hasCard ? responder.reply(tag, cardFields(now.profile)) : responder.error(tag, 5),
    [COMMAND.setCardProfile]: ({ tag, fields }, responder) => {
      now.profile = textIn(fields);
      return Buffer.concat([responder.reply(tag), event('cardChange', CARD)]);
    },
    [COMMAND.setSourcePort]: ({ tag, fields }, responder) => {
      now.inputPort = textIn(fields);
      return responder.reply(tag);
    },
    [COMMAND.setSinkPort]: ({ tag, fields }, responder) => {
      now.port = textIn(fields);
      return Buffer.concat([responder.reply(tag), event('sinkChange', 0)]);
    },
  });
  const server = await scriptedServer(t, handler);
  return {
    socketPath: server.socketPath,
    now,
    /** Removes the card, as if it were unplugged. */
    unplug: (): void => {
      now.hasCard = false;
      server.responder.send(event('cardRemove', CARD));
    },
  };
}
