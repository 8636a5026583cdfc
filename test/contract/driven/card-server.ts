// A scripted sound server with a card, an output and an input. The card has two profiles. The output has two
// ports, and so has the input. The daemon can switch the profile and the ports. The server is scripted
// because a real sound server has no card on a machine without sound hardware. The tests in test/hardware use
// real sound servers, with the cards of an emulated machine.

import {
  bytesOf,
  COMMAND,
  ERROR,
  event,
  ordinaryExcept,
  scriptedServer,
} from '../../actors/audio/scripted-server.js';
import { props, source, text, textProp, u32 } from '../../protocol/pulse/bytes.js';
import type { Ending } from '../daemon.js';

const SINK = 0;
const CARD = 3;
/** The module number of a card that belongs to no module of the sound server. */
const NO_MODULE = 0xffffffff;
const PROFILES = ['stereo', 'surround'];
/** The availability of a port into which something is plugged. */
const PLUGGED_IN = 2;
const OUTPUT_PORTS = [
  ['speakers', PLUGGED_IN],
  ['line', PLUGGED_IN],
] as const;

function cardFields(activeProfile: string) {
  const profiles = PROFILES.flatMap((name) => [
    text(name),
    text(`Profile ${name}`),
    u32(1), // outputs
    u32(0), // inputs
    u32(1), // priority
    u32(1), // available
  ]);
  const beforeProfiles = [u32(CARD), text('dac'), u32(NO_MODULE), text('alsa'), u32(PROFILES.length)];
  const noPorts = u32(0);
  const afterProfiles = [text(activeProfile), props(textProp('device.description', 'The card')), noPorts];
  return [...beforeProfiles, ...profiles, ...afterProfiles].flat();
}

export type CardServer = Awaited<ReturnType<typeof startCardServer>>;

export async function startCardServer(t: Ending) {
  const state = { profile: 'stereo', port: 'speakers', inputPort: 'rear', hasCard: true };
  const inputPorts = ['rear', 'front'].map((name) =>
    [
      text(name),
      text(null), // description
      u32(0), // priority
      u32(PLUGGED_IN),
    ].flat(),
  );
  const input = () => source({ name: 'line-in', ports: inputPorts, activePort: state.inputPort });
  const sink = () =>
    bytesOf.sink(SINK, 'living', { card: CARD, ports: OUTPUT_PORTS, activePort: state.port });
  /** The last text of a request. Each text stands between `t` and a zero byte, as in `tsurround\0`. */
  const lastText = (fields: Buffer): string => /t([a-z]+)\0$/.exec(fields.toString('latin1'))?.[1] ?? '';
  const handler = ordinaryExcept({
    [COMMAND.getSinks]: ({ tag }, responder) => responder.reply(tag, sink()),
    [COMMAND.getSink]: ({ tag }, responder) => responder.reply(tag, sink()),
    [COMMAND.getSources]: ({ tag }, responder) => responder.reply(tag, input()),
    [COMMAND.getSource]: ({ tag }, responder) => responder.reply(tag, input()),
    [COMMAND.getCards]: ({ tag }, responder) =>
      state.hasCard ? responder.reply(tag, cardFields(state.profile)) : responder.reply(tag),
    [COMMAND.getCard]: ({ tag }, responder) =>
      state.hasCard ? responder.reply(tag, cardFields(state.profile)) : responder.error(tag, ERROR.noEntity),
    [COMMAND.setCardProfile]: ({ tag, fields }, responder) => {
      state.profile = lastText(fields);
      return Buffer.concat([responder.reply(tag), event('cardChange', CARD)]);
    },
    [COMMAND.setSourcePort]: ({ tag, fields }, responder) => {
      state.inputPort = lastText(fields);
      // Unlike a change of the profile or of the output's port, this change has no event. The daemon reads
      // the input again after the reply.
      return responder.reply(tag);
    },
    [COMMAND.setSinkPort]: ({ tag, fields }, responder) => {
      state.port = lastText(fields);
      return Buffer.concat([responder.reply(tag), event('sinkChange', SINK)]);
    },
  });
  const server = await scriptedServer(t, handler);
  return {
    socketPath: server.socketPath,
    state,
    /** Removes the card, as if it were unplugged. */
    unplug: (): void => {
      state.hasCard = false;
      server.responder.send(event('cardRemove', CARD));
    },
  };
}
