// Tests cards, their profiles, and outputs that come and go, against a scripted server. The tests in
// test/hardware use the cards of an emulated machine.

import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { whyNoCard } from '../../../src/actors/audio/no-card.js';
import type { Timing } from '../../../src/actors/audio/timing.js';
import type { AudioCommand } from '../../../src/protocol/actor/commands.js';
import { type Bytes, props, text, textProp, u8, u32 } from '../../protocol/pulse/bytes.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import {
  bytesOf,
  COMMAND,
  ERROR,
  event,
  type Handler,
  ordinaryExcept,
  type SinkFields,
} from './scripted-server.js';
import { DEADLINE, startOnScriptedServer } from './start-backend.js';

const CARD_INDEX = 3;
/** The index that stands for no sink or module. Events about the server itself have it, too. */
const NO_INDEX = 0xffffffff;
/** The indices of sinks. */
const STEREO_INDEX = 0;
const KITCHEN_INDEX = 1;
const SURROUND_INDEX = 7;

/** The number of outputs of each profile. */
const PROFILES = { off: 0, stereo: 1, surround: 1, hdmi: 1, usb: 1 } as const;

/** The numbers by which the sound server reports whether something is plugged in at a port. */
const NOTHING_PLUGGED_IN = 1;
const PLUGGED_IN = 2;
/**
 * The availability of a profile is `no` if the server reports the profile as unusable. Otherwise it is `yes`
 * for `stereo`, because something is plugged in at its port, and for `off`, which has no outputs. It is
 * `unknown` for `surround` and `hdmi`, because nothing is plugged in at their port, and for `usb`, which has
 * no port.
 */
const PORTS = {
  line: { available: PLUGGED_IN, profiles: ['stereo'] },
  speakers: { available: NOTHING_PLUGGED_IN, profiles: ['surround', 'hdmi'] },
} as const;
const NO_SOURCES = 0;
const PRIORITY = 0;
const IS_OUTPUT = 1;
/** The letter r, which marks a signed number of 64 bits, and then the number 0. */
const NO_LATENCY_OFFSET = [0x72, 0, 0, 0, 0, 0, 0, 0, 0];

/** The answer to GET_CARD_INFO. */
const cardFields = (activeProfile: string, unusable: readonly string[]): Bytes =>
  [
    u32(CARD_INDEX),
    text('dac'),
    u32(NO_INDEX),
    text('alsa'),
    u32(Object.keys(PROFILES).length),
    ...Object.entries(PROFILES).flatMap(([profile, outputCount]) => [
      text(profile),
      text(`Profile ${profile}`),
      u32(outputCount),
      u32(NO_SOURCES),
      u32(PRIORITY),
      u32(unusable.includes(profile) ? 0 : 1),
    ]),
    text(activeProfile),
    props(textProp('device.description', 'The card')),
    u32(Object.keys(PORTS).length),
    ...Object.entries(PORTS).flatMap(([port, { available, profiles }]) => [
      text(port),
      text(`Port ${port}`),
      u32(PRIORITY),
      u32(available),
      u8(IS_OUTPUT),
      // The daemon must only skip these properties. It does not use them.
      props(textProp('port.type', 'hdmi')),
      u32(profiles.length),
      ...profiles.map(text),
      NO_LATENCY_OFFSET,
    ]),
  ].flat();

/**
 * A sound server with a sink that belongs to a card, a sink without a card, and a stream to the first sink.
 * The card's sink has the name of the active profile.
 */
class World {
  readonly sinks = new Map<number, readonly [name: string, fields: SinkFields]>()
    .set(STEREO_INDEX, ['stereo', { card: CARD_INDEX }])
    .set(KITCHEN_INDEX, ['kitchen', {}]);
  cards: readonly number[] = [CARD_INDEX];
  profile = 'stereo';
  /** The profiles that the server reports as unusable now. */
  unusable: readonly string[] = ['hdmi'];
  defaultSink = 'stereo';
  /** The index of the sink to which the stream plays. */
  streamSink = STEREO_INDEX;
  /** Carries out a switch of the profile, and returns events. If undefined, the server refuses a switch. */
  onProfile: (() => readonly Buffer[]) | undefined;
  /** Runs when a reply with the list of cards is ready, and returns the events that follow the reply. */
  onListed = (): readonly Buffer[] => [];

  readonly #sink = (index: number): Bytes => bytesOf.sink(index, ...(this.sinks.get(index) ?? assert.fail()));
  readonly #input: Handler = ({ tag }, { reply }) =>
    reply(tag, bytesOf.sinkInput(5, 'News', { sink: this.streamSink }));

  readonly handler = ordinaryExcept({
    [COMMAND.getServerInfo]: ({ tag }, responder) =>
      responder.reply(tag, bytesOf.server({ defaultSink: this.defaultSink })),
    [COMMAND.getSinks]: ({ tag }, responder) =>
      responder.reply(tag, ...[...this.sinks.keys()].map(this.#sink)),
    [COMMAND.getSink]: ({ tag, fields }, responder) => {
      // The byte before the index is its type.
      const index = fields.readUInt32BE(1);
      return this.sinks.has(index)
        ? responder.reply(tag, this.#sink(index))
        : responder.error(tag, ERROR.noEntity);
    },
    [COMMAND.getInputs]: this.#input,
    [COMMAND.getInput]: this.#input,
    [COMMAND.getCards]: ({ tag }, responder) =>
      Buffer.concat([
        responder.reply(tag, ...this.cards.map(() => cardFields(this.profile, this.unusable))),
        ...this.onListed(),
      ]),
    [COMMAND.getCard]: ({ tag, fields }, responder) => {
      const isThere = this.cards.includes(fields.readUInt32BE(1));
      return isThere
        ? responder.reply(tag, cardFields(this.profile, this.unusable))
        : responder.error(tag, ERROR.noEntity);
    },
    [COMMAND.setCardProfile]: ({ tag }, responder) =>
      this.onProfile === undefined
        ? responder.error(tag, ERROR.noEntity)
        : Buffer.concat([responder.reply(tag), ...this.onProfile()]),
  });
}

async function startNode(t: TestContext, changes: Partial<World> = {}, timing: Partial<Timing> = {}) {
  const world = Object.assign(new World(), changes);
  return { world, ...(await startOnScriptedServer(t, world.handler, { timing })) };
}
const profileCommand = (name: string, card = 'dac'): AudioCommand => ({ do: 'profile', card, profile: name });
const serverChanged = event('serverChange', NO_INDEX);
/** With these deadlines, no switch ends by a timeout. */
const PATIENT = { switchMs: 3_600_000, commandMs: 3_600_000 };

describe('a card', DEADLINE, () => {
  test('is published with the availability of each profile, and the record of its output names the card', async (t) => {
    const { recorder } = await startNode(t);
    const profileRecord = (name: string, outputs: number, available: string) => {
      return { name, description: `Profile ${name}`, available, outputs, inputs: 0 };
    };
    assert.deepEqual(recorder.cards(), [
      {
        id: 3,
        name: 'dac',
        description: 'The card',
        driver: 'alsa',
        active_profile: 'stereo',
        profiles: [
          profileRecord('off', 0, 'yes'),
          profileRecord('stereo', 1, 'yes'),
          profileRecord('surround', 1, 'unknown'),
          profileRecord('hdmi', 1, 'no'),
          profileRecord('usb', 1, 'unknown'),
        ],
      },
    ]);
    const cardsOfOutputs = recorder.outputs().map(({ card }) => card);
    assert.deepEqual(cardsOfOutputs, ['dac', undefined]);
  });

  test('a profile is refused if the card is unknown or gone, or has no such profile, or if the profile is unavailable now', async (t) => {
    const { backend, server } = await startNode(t);
    // There is no card `amp` or 4. The card `dac` has the id 3. It has no profile `mono`, and `hdmi` is
    // unusable.
    const commands = [
      profileCommand('off', 'amp'),
      profileCommand('off', '4'),
      profileCommand('mono'),
      profileCommand('hdmi', '3'),
    ];
    const faults = [];
    for (const command of commands) faults.push(faultOf(await backend.handle(command)));
    assert.deepEqual(faults, ['no-such-card', 'no-such-card', 'no-such-profile', 'profile-unavailable']);
    assert.equal(server.count(COMMAND.setCardProfile), 0);
    // `onProfile` is undefined, so the server refuses the profile `off` as if the card were gone.
    assert.equal(
      faultOf(await backend.handle(profileCommand('off'))),
      'no-such-card',
      'the server no longer has the card',
    );
  });

  test('is read again before one of its profiles is refused, and its new record is published', async (t) => {
    const { backend, recorder, server, world } = await startNode(t);
    const hdmiAvailability = () =>
      recorder.cards()[0]?.profiles.find(({ name }) => name === 'hdmi')?.available;
    assert.equal(faultOf(await backend.handle(profileCommand('hdmi'))), 'profile-unavailable');
    assert.equal(hdmiAvailability(), 'no');

    world.unusable = [];
    world.onProfile = () => {
      world.profile = 'hdmi';
      return [];
    };

    const answer = backend.handle(profileCommand('hdmi'));
    await until('the profile is set', () => server.count(COMMAND.setCardProfile) === 1);
    assert.deepEqual(await answer, { ok: true, value: {} });
    assert.deepEqual([hdmiAvailability(), recorder.cards()[0]?.active_profile], ['unknown', 'hdmi']);
  });

  test('switches its profile even if the server sends no event about the card, and even if a stream has no output before and after the switch', async (t) => {
    const { backend, recorder, server, world } = await startNode(t, { streamSink: NO_INDEX }, PATIENT);
    /** The start and the events cause at most this many readings of the cards. The switch causes the rest. */
    const READINGS_BY_EVENTS = 5;
    world.onProfile = () => {
      // The server replies first, and changes its sinks later.
      setImmediate(() => {
        world.sinks.delete(STEREO_INDEX);
        world.sinks.set(SURROUND_INDEX, ['surround', { card: CARD_INDEX }]);
        server.responder.send(
          Buffer.concat([event('sinkRemove', STEREO_INDEX), event('sinkNew', SURROUND_INDEX)]),
        );
        world.defaultSink = 'surround';
        server.responder.send(serverChanged);
        // The card has the new profile only after the readings that the switch causes have begun.
        world.onListed = () => {
          if (server.count(COMMAND.getCards) > READINGS_BY_EVENTS) world.profile = 'surround';
          return [];
        };
      });
      return [];
    };

    assert.deepEqual(await backend.handle(profileCommand('surround')), { ok: true, value: {} });
    assert.equal(recorder.cards()[0]?.active_profile, 'surround');
  });

  test('counts as switched only when its new output exists, even if the profile is active and all streams have an output before that', async (t) => {
    const { backend, recorder, world } = await startNode(t, { streamSink: KITCHEN_INDEX }, PATIENT);
    let readings = 0;
    world.onProfile = () => {
      world.sinks.delete(STEREO_INDEX);
      Object.assign(world, { profile: 'surround', defaultSink: 'kitchen' });
      world.onListed = () => {
        readings += 1;
        // The new output appears only at the third reading. Everything else has been changed before.
        if (readings !== 3) return [];
        world.sinks.set(SURROUND_INDEX, ['surround', { card: CARD_INDEX }]);
        return [event('sinkNew', SURROUND_INDEX)];
      };
      return [event('sinkRemove', STEREO_INDEX), event('cardChange', CARD_INDEX), serverChanged];
    };

    assert.deepEqual(await backend.handle(profileCommand('surround')), { ok: true, value: {} });
    assert.notEqual(recorder.output('surround'), undefined);
  });

  test('a switch whose new output never appears is answered in the end, and later changes are published', async (t) => {
    const { backend, recorder, server, world } = await startNode(t, {}, { switchMs: 30 });
    world.onProfile = () => {
      world.sinks.delete(STEREO_INDEX);
      Object.assign(world, { profile: 'surround', defaultSink: 'kitchen', streamSink: KITCHEN_INDEX });
      return [event('sinkRemove', STEREO_INDEX), serverChanged];
    };

    assert.deepEqual(await backend.handle(profileCommand('surround')), { ok: true, value: {} });
    assert.equal(recorder.output('stereo'), undefined);
    assert.equal(recorder.cards()[0]?.active_profile, 'surround');

    world.sinks.set(8, ['late', {}]);
    server.responder.send(event('sinkNew', 8));
    await until('the new output is published', () => recorder.output('late') !== undefined);
  });

  /** The switch from stereo to surround, in the steps of each kind of server. */
  const switches: Readonly<Record<string, (world: World) => void>> = {
    'PulseAudio, at once': (world) => {
      world.onProfile = () => {
        world.sinks.delete(STEREO_INDEX);
        world.sinks.set(SURROUND_INDEX, ['surround', { card: CARD_INDEX }]);
        Object.assign(world, { profile: 'surround', defaultSink: 'surround', streamSink: SURROUND_INDEX });
        return [
          event('sinkRemove', STEREO_INDEX),
          event('sinkNew', SURROUND_INDEX),
          event('sinkInputChange', 5),
          serverChanged,
          event('cardChange', CARD_INDEX),
        ];
      };
    },
    'PipeWire, in three steps': (world) => {
      const steps = [
        () => {
          world.sinks.delete(STEREO_INDEX);
          Object.assign(world, { profile: 'surround', defaultSink: 'kitchen', streamSink: NO_INDEX });
          return [event('cardChange', CARD_INDEX), event('sinkRemove', STEREO_INDEX), serverChanged];
        },
        () => {
          world.sinks.set(SURROUND_INDEX, ['surround', { card: CARD_INDEX }]);
          return [event('sinkNew', SURROUND_INDEX)];
        },
        () => {
          Object.assign(world, { defaultSink: 'surround', streamSink: SURROUND_INDEX });
          return [serverChanged, event('sinkInputChange', 5)];
        },
      ];
      world.onProfile = () => {
        world.onListed = () => steps.shift()?.() ?? [];
        return [];
      };
    },
  };
  for (const [kind, prepare] of Object.entries(switches)) {
    test(`switches its profile, and every record that changes is published only once (${kind})`, async (t) => {
      const { backend, recorder, world } = await startNode(t);
      prepare(world);
      recorder.published.length = 0;

      assert.deepEqual(await backend.handle(profileCommand('surround')), { ok: true, value: {} });
      assert.deepEqual(recorder.published.toSorted(), [
        'drop audio.outputs 0',
        'put audio.cards 3',
        'put audio.clients 5',
        'put audio.outputs 7',
        'put audio.server',
      ]);
      assert.equal(recorder.client('News')?.output, 'surround');
      assert.equal(recorder.output('surround')?.default, true);
      assert.equal(recorder.cards()[0]?.active_profile, 'surround');
    });
  }
});

describe('an output', DEADLINE, () => {
  test('the removal of an unplugged output and the move of its stream are published together, and no command finds the output any more', async (t) => {
    const { backend, recorder, server, world } = await startNode(t);
    world.sinks.delete(STEREO_INDEX);
    // Another output gets the same index at once.
    world.sinks.set(STEREO_INDEX, ['hdmi', {}]);
    Object.assign(world, { cards: [], defaultSink: 'kitchen', streamSink: KITCHEN_INDEX });

    recorder.published.length = 0;
    server.responder.send(Buffer.concat([event('sinkRemove', STEREO_INDEX), event('sinkNew', STEREO_INDEX)]));
    await until('the other output is published', () => recorder.output('hdmi') !== undefined);

    // The output 1 is `kitchen`. Its record changes, because it is the default now.
    assert.deepEqual(recorder.published, [
      'drop audio.outputs 0',
      'drop audio.cards 3',
      'put audio.server',
      'put audio.outputs 0',
      'put audio.outputs 1',
      'put audio.clients 5',
    ]);
    assert.equal(recorder.client('News')?.output, 'kitchen');

    const mute: AudioCommand = { do: 'mute', target: { kind: 'output', ref: 'stereo' } };
    assert.equal(faultOf(await backend.handle(mute)), 'no-such-output');
    assert.equal(server.count(COMMAND.setSinkMute), 0);
  });

  test('counts as another output when its index gets another name, even without an event of removal', async (t) => {
    const { recorder, server, world } = await startNode(t);
    world.sinks.set(STEREO_INDEX, ['hdmi', {}]);
    recorder.published.length = 0;
    server.responder.send(event('sinkChange', STEREO_INDEX));
    await until('the other output is published', () => recorder.output('hdmi') !== undefined);
    assert.equal(recorder.published[0], 'drop audio.outputs 0');
  });

  /** 3 % of full volume. */
  const MIXER_STEP_RAW = 1966;
  test('small deltas add up at an output whose mixer rounds volumes, and the record of the output has the rounded volume', async (t) => {
    const world = new World();
    const setMixer = (raw: number): void => {
      const rounded = Math.round(raw / MIXER_STEP_RAW) * MIXER_STEP_RAW;
      world.sinks.set(KITCHEN_INDEX, ['kitchen', { volume: [rounded, 0] }]);
    };
    setMixer(10 * MIXER_STEP_RAW);
    const { backend, recorder } = await startOnScriptedServer(t, (request, responder) => {
      if (request.command !== COMMAND.setSinkVolume) return world.handler(request, responder);
      // The letter v and the number of channels are before the volume of the first channel.
      setMixer(request.fields.readUInt32BE(request.fields.indexOf('v') + 2));
      return responder.reply(request.tag);
    });

    const volumeAfter = async (delta: number): Promise<number | undefined> => {
      await backend.handle({ do: 'delta', target: { kind: 'output', ref: 'kitchen' }, delta });
      return recorder.output('kitchen')?.volume;
    };

    // The volume is 0.3 at first. The deltas lead to 0.31, 0.32, 0.33, 0.34, 0.35, 0.34, 0.33 and 0.32. The
    // mixer rounds each of these volumes to a multiple of 3 %.
    const volumes = [];
    for (const delta of [0.01, 0.01, 0.01, 0.01, 0.01, -0.01, -0.01, -0.01])
      volumes.push(await volumeAfter(delta));
    assert.deepEqual(volumes, [0.3, 0.33, 0.33, 0.33, 0.36, 0.33, 0.33, 0.33]);
  });
});

describe('the lack of any card', DEADLINE, () => {
  test('a sound server without any card is reported until a card appears', async (t) => {
    const sinks: World['sinks'] = new Map([[0, ['auto_null', {}]]]);
    const withoutCard = { sinks, cards: [], defaultSink: 'auto_null' };
    const { recorder, server, world } = await startNode(t, withoutCard, { noCardMs: 1 });
    const isPublished = (pattern: RegExp): boolean => recorder.published.some((line) => pattern.test(line));
    await until('the detail is published', () => isPublished(/^up: The sound server sees no sound card: \w/));
    assert.ok(recorder.logs.includes('warn: the sound server sees no sound card'));

    world.cards = [CARD_INDEX];
    server.responder.send(event('cardNew', CARD_INDEX));
    await until(
      'the card is logged',
      () => recorder.logs.at(-1) === 'info: the sound server sees a sound card',
    );
    assert.equal(recorder.published.at(-1), 'up');
  });

  test('a missing card is explained: the kernel has none, this user may not open it, or the sound server does not use it', async (t) => {
    const folder = temporaryFolder(t);
    assert.match(await whyNoCard(join(folder, 'nowhere')), /^the kernel has none/);
    // This file belongs to no card.
    writeFileSync(join(folder, 'timer'), '');
    assert.match(await whyNoCard(folder), /^the kernel has none/);
    // The link leads nowhere, so nobody can open it, not even root.
    symlinkSync('nowhere', join(folder, 'controlC1'));
    const reason = await whyNoCard(folder);
    assert.match(reason, /^this user may not open .*controlC1, because it is neither in the group audio/);
    writeFileSync(join(folder, 'controlC0'), '');
    assert.match(await whyNoCard(folder), /^this user may open one/);
  });
});
