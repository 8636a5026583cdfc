// Tests an output whose volume the sound server sets above its limit after a command. The server does so
// because it has stored this volume for a port or a profile.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import { props, text, u32 } from '../../protocol/pulse/bytes.js';
import { until } from '../../until.js';
import { bytesOf, COMMAND, event, ordinaryExcept } from './scripted-server.js';
import { DEADLINE, startOnScriptedServer } from './start-backend.js';

const CARD = 3;
/** The index that stands for no module. */
const NO_MODULE = 0xffffffff;
const FULL = 0x10000;
const HALF = 0x8000;
const QUARTER = 0x4000;
const LIMIT = 0.5;
/** In this file, the right channel always has half of the left channel's volume. */
const BALANCE = -0.5;
/** The sound server's number for a port at which something is plugged in. */
const PLUGGED_IN = 2;

/**
 * A card with two profiles, and its output with two ports. For each profile and port the server has stored a
 * volume of 100 %.
 */
class Amplifier {
  volume = [HALF, QUARTER];
  profile = 'stereo';
  /** How many more times the server restores its stored volume after the daemon has set another volume. */
  restoresLeft = 0;
  /** The volumes that the daemon has set, in order. */
  readonly setVolumes: (readonly number[])[] = [];

  readonly #sink = () =>
    bytesOf.sink(0, 'living', {
      volume: this.volume,
      card: CARD,
      ports: [
        ['line', PLUGGED_IN],
        ['hdmi', PLUGGED_IN],
      ],
    });
  /** Name, description, numbers of sinks and sources, priority, availability. */
  readonly #profile = (name: string) => [text(name), text(name), u32(1), u32(0), u32(0), u32(1)].flat();
  /**
   * Index, name, owner module, driver, number of profiles, the profiles, active profile, properties, number
   * of ports.
   */
  readonly #card = () => {
    const head = [u32(CARD), text('dac'), u32(NO_MODULE), text('alsa'), u32(2)].flat();
    const profiles = [this.#profile('stereo'), this.#profile('digital')].flat();
    return [head, profiles, text(this.profile), props(), u32(0)].flat();
  };

  /** Sets the output to its stored volume, and returns the event that announces the change. */
  restore(): Buffer {
    this.volume = [FULL, HALF];
    return event('sinkChange', 0);
  }

  readonly handler = ordinaryExcept({
    [COMMAND.getSinks]: ({ tag }, responder) => responder.reply(tag, this.#sink()),
    [COMMAND.getSink]: ({ tag }, responder) => responder.reply(tag, this.#sink()),
    [COMMAND.getCards]: ({ tag }, responder) => responder.reply(tag, this.#card()),
    [COMMAND.getCard]: ({ tag }, responder) => responder.reply(tag, this.#card()),
    [COMMAND.setSinkPort]: ({ tag }, responder) => Buffer.concat([responder.reply(tag), this.restore()]),
    [COMMAND.setCardProfile]: ({ tag }, responder) => {
      this.profile = 'digital';
      return Buffer.concat([responder.reply(tag), event('cardChange', CARD), this.restore()]);
    },
    [COMMAND.setSinkVolume]: ({ tag, fields }, responder) => {
      // The letter v and the number of channels are before the volumes.
      const offset = fields.indexOf('v') + 2;
      this.volume = [fields.readUInt32BE(offset), fields.readUInt32BE(offset + 4)];
      this.setVolumes.push(this.volume);
      const mustRestore = this.restoresLeft > 0;
      this.restoresLeft -= 1;
      const sinkEvent = mustRestore ? this.restore() : event('sinkChange', 0);
      return Buffer.concat([responder.reply(tag), sinkEvent]);
    },
  });
}

async function startWithAmplifier(t: TestContext, restoresLeft = 0) {
  const amplifier = Object.assign(new Amplifier(), { restoresLeft });
  return {
    amplifier,
    ...(await startOnScriptedServer(t, amplifier.handler, { settings: { volumeLimit: LIMIT } })),
  };
}

const COMMANDS: readonly AudioCommand[] = [
  { do: 'port', output: 'living', port: 'hdmi' },
  { do: 'profile', card: 'dac', profile: 'digital' },
];

describe('an output whose stored volume is above its limit', DEADLINE, () => {
  for (const command of COMMANDS) {
    for (const restores of [0, 2]) {
      test(`is set back to its limit after the command ${command.do}, and after each of ${restores} further restores by the server`, async (t) => {
        const { amplifier, backend, recorder } = await startWithAmplifier(t, restores);
        assert.deepEqual(await backend.handle(command), { ok: true, value: {} });

        await until('the output is set back each time', () => amplifier.setVolumes.length === restores + 1);
        await until('the limit is published', () => recorder.output('living')?.volume === LIMIT);
        assert.equal(recorder.output('living')?.balance, BALANCE);
        await until('the limit is logged', () =>
          recorder.logs.includes('info: an output was set back to its volume limit'),
        );
      });
    }
  }

  test('is not set back when another program has set its volume', async (t) => {
    const { amplifier, backend, recorder, server } = await startWithAmplifier(t);
    // No command came before this change, so the backend counts it as a change by another program.
    server.responder.send(amplifier.restore());
    await until('the volume above the limit is published', () => recorder.output('living')?.volume === 1);

    // The server restores no volume after a mute, so the backend leaves the volume alone (limit-guard.ts).
    const mute: AudioCommand = { do: 'mute', target: { kind: 'output', ref: 'living' }, muted: true };
    assert.deepEqual(await backend.handle(mute), { ok: true, value: {} });

    assert.deepEqual(amplifier.setVolumes, []);
    assert.equal(recorder.output('living')?.volume, 1);
  });
});
