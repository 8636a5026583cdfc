// Cards, their profiles, and outputs that come and go, against a scripted server. Real cards: the emulated
// machine.

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
import { connected, DEADLINE } from './backed.js';
import { but, bytesOf, COMMAND, event, type Handler, type SinkFields } from './scripted-server.js';

const CARD = 3;
const NOWHERE = 0xffffffff;

/** Outputs of each profile; availability and profiles of each port. */
const PROFILES = { off: 0, stereo: 1, surround: 1, hdmi: 1, usb: 1 } as const;
const PORTS = { line: [2, ['stereo']], speakers: [1, ['surround', 'hdmi']] } as const;

const cardFields = (active: string, unplugged: readonly string[]): Bytes =>
  [
    u32(CARD),
    text('dac'),
    u32(NOWHERE),
    text('alsa'),
    u32(Object.keys(PROFILES).length),
    ...Object.entries(PROFILES).flatMap(([profile, sinks]) => [
      text(profile),
      text(`Profile ${profile}`),
      u32(sinks),
      u32(0),
      u32(0),
      u32(unplugged.includes(profile) ? 0 : 1),
    ]),
    text(active),
    props(textProp('device.description', 'The card')),
    u32(Object.keys(PORTS).length),
    ...Object.entries(PORTS).flatMap(([port, [available, of]]) => [
      text(port),
      text(`Port ${port}`),
      u32(0),
      u32(available),
      u8(1),
      props(textProp('port.type', 'hdmi')),
      u32(of.length),
      ...of.map(text),
      [0x72, 0, 0, 0, 0, 0, 0, 0, 0],
    ]),
  ].flat();

/** A sound server with a sink that belongs to a card, a sink without one, and a stream to the first sink. */
class World {
  readonly sinks = new Map<number, readonly [name: string, fields: SinkFields]>()
    .set(0, ['stereo', { card: CARD }])
    .set(1, ['kitchen', {}]);
  cards: readonly number[] = [CARD];
  profile = 'stereo';
  /** The profiles for which nothing is plugged in. */
  unplugged: readonly string[] = ['hdmi'];
  default = 'stereo';
  streamOn = 0;
  /** Carries out a switch; without it one is refused. */
  onProfile: (() => readonly Buffer[]) | undefined;
  /** Called when the cards have been listed. */
  onListed = (): readonly Buffer[] => [];

  readonly #sink = (index: number): Bytes => bytesOf.sink(index, ...(this.sinks.get(index) ?? assert.fail()));
  readonly #input: Handler = ({ tag }, { reply }) =>
    reply(tag, bytesOf.input(5, 'News', { sink: this.streamOn }));

  readonly handler = but({
    [COMMAND.getServerInfo]: ({ tag }, responder) =>
      responder.reply(tag, bytesOf.server({ defaultSink: this.default })),
    [COMMAND.getSinks]: ({ tag }, responder) =>
      responder.reply(tag, ...[...this.sinks.keys()].map(this.#sink)),
    [COMMAND.getSink]: ({ tag, fields }, responder) => {
      const index = fields.readUInt32BE(1);
      return this.sinks.has(index) ? responder.reply(tag, this.#sink(index)) : responder.error(tag, 5);
    },
    [COMMAND.getInputs]: this.#input,
    [COMMAND.getInput]: this.#input,
    [COMMAND.getCards]: ({ tag }, responder) =>
      Buffer.concat([
        responder.reply(tag, ...this.cards.map(() => cardFields(this.profile, this.unplugged))),
        ...this.onListed(),
      ]),
    [COMMAND.getCard]: ({ tag, fields }, responder) => {
      const isThere = this.cards.includes(fields.readUInt32BE(1));
      return isThere
        ? responder.reply(tag, cardFields(this.profile, this.unplugged))
        : responder.error(tag, 5);
    },
    [COMMAND.setCardProfile]: ({ tag }, responder) =>
      this.onProfile === undefined
        ? responder.error(tag, 5)
        : Buffer.concat([responder.reply(tag), ...this.onProfile()]),
  });
}

async function node(t: TestContext, begins: Partial<World> = {}, timing: Partial<Timing> = {}) {
  const world = Object.assign(new World(), begins);
  return { world, ...(await connected(t, world.handler, timing)) };
}
const profile = (name: string, card = 'dac'): AudioCommand => ({ do: 'profile', card, profile: name });
const serverChanged = event('serverChange', NOWHERE);
const PATIENT = { switchMs: 3_600_000, commandMs: 3_600_000 };

describe('a card', DEADLINE, () => {
  test('is published with what the server reports of each profile, and its output has the id of the card', async (t) => {
    const { recorder } = await node(t);
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
    const cards = recorder.outputs().map(({ card }) => card);
    assert.deepEqual(cards, ['dac', undefined]);
  });

  test('refuses a profile that it does not have, or that is not available now', async (t) => {
    const { backend, server } = await node(t);
    const faults = [];
    for (const command of [profile('off', 'amp'), profile('off', '4'), profile('mono'), profile('hdmi', '3')])
      faults.push(faultOf(await backend.handle(command)));
    assert.deepEqual(faults, ['no-such-card', 'no-such-card', 'no-such-profile', 'profile-unavailable']);
    assert.equal(server.count(COMMAND.setCardProfile), 0);
    assert.equal(faultOf(await backend.handle(profile('off'))), 'no-such-card', 'the server has lost it');
  });

  test('is read again before a profile is refused, and its record is published again', async (t) => {
    const { backend, recorder, server, world } = await node(t);
    const available = () => recorder.cards()[0]?.profiles.find(({ name }) => name === 'hdmi')?.available;
    assert.equal(faultOf(await backend.handle(profile('hdmi'))), 'profile-unavailable');
    assert.equal(available(), 'no');
    world.unplugged = [];
    world.onProfile = () => {
      world.profile = 'hdmi';
      return [];
    };
    const isAccepted = backend.handle(profile('hdmi'));
    await until('the profile is set', () => server.count(COMMAND.setCardProfile) === 1);
    assert.deepEqual(await isAccepted, { ok: true, value: {} });
    assert.deepEqual([available(), recorder.cards()[0]?.active_profile], ['unknown', 'hdmi']);
  });

  test('is switched although the server sends no event, and does not wait for a stream that had no output before', async (t) => {
    const { backend, recorder, server, world } = await node(t, { streamOn: NOWHERE }, PATIENT);
    world.onProfile = () => {
      setImmediate(() => {
        world.sinks.delete(0);
        world.sinks.set(7, ['surround', { card: CARD }]);
        server.responder.send(Buffer.concat([event('sinkRemove', 0), event('sinkNew', 7)]));
        world.default = 'surround';
        server.responder.send(serverChanged);
        // Later than any event has it read.
        world.onListed = () => {
          if (server.count(COMMAND.getCards) > 5) world.profile = 'surround';
          return [];
        };
      });
      return [];
    };
    assert.deepEqual(await backend.handle(profile('surround')), { ok: true, value: {} });
    assert.equal(recorder.cards()[0]?.active_profile, 'surround');
  });

  test('does not count as switched before its new output exists, though the profile is active and no stream waits', async (t) => {
    const { backend, recorder, world } = await node(t, { streamOn: 1 }, PATIENT);
    let readings = 0;
    world.onProfile = () => {
      world.sinks.delete(0);
      Object.assign(world, { profile: 'surround', default: 'kitchen' });
      world.onListed = () => {
        readings += 1;
        if (readings !== 3) return [];
        world.sinks.set(7, ['surround', { card: CARD }]);
        return [event('sinkNew', 7)];
      };
      return [event('sinkRemove', 0), event('cardChange', CARD), serverChanged];
    };
    assert.deepEqual(await backend.handle(profile('surround')), { ok: true, value: {} });
    assert.notEqual(recorder.output('surround'), undefined);
  });

  test('a switch whose new output never appears is answered in the end; the card and later changes are published', async (t) => {
    const { backend, recorder, server, world } = await node(t, {}, { switchMs: 30 });
    world.onProfile = () => {
      world.sinks.delete(0);
      Object.assign(world, { profile: 'surround', default: 'kitchen', streamOn: 1 });
      return [event('sinkRemove', 0), serverChanged];
    };
    assert.deepEqual(await backend.handle(profile('surround')), { ok: true, value: {} });
    assert.equal(recorder.output('stereo'), undefined);
    assert.equal(recorder.cards()[0]?.active_profile, 'surround');
    world.sinks.set(8, ['late', {}]);
    server.responder.send(event('sinkNew', 8));
    await until('the next change is shown', () => recorder.output('late') !== undefined);
  });

  /** The switch from stereo to surround, in the steps of each kind of server. */
  const switches: Readonly<Record<string, (world: World) => void>> = {
    'PulseAudio, at once': (world) => {
      world.onProfile = () => {
        world.sinks.delete(0);
        world.sinks.set(7, ['surround', { card: CARD }]);
        Object.assign(world, { profile: 'surround', default: 'surround', streamOn: 7 });
        const events = [event('sinkRemove', 0), event('sinkNew', 7), event('inputChange', 5)];
        return [...events, serverChanged, event('cardChange', CARD)];
      };
    },
    'PipeWire, a node at a time': (world) => {
      const steps = [
        () => {
          world.sinks.delete(0);
          Object.assign(world, { profile: 'surround', default: 'kitchen', streamOn: NOWHERE });
          return [event('cardChange', CARD), event('sinkRemove', 0), serverChanged];
        },
        () => {
          world.sinks.set(7, ['surround', { card: CARD }]);
          return [event('sinkNew', 7)];
        },
        () => {
          Object.assign(world, { default: 'surround', streamOn: 7 });
          return [serverChanged, event('inputChange', 5)];
        },
      ];
      world.onProfile = () => {
        world.onListed = () => steps.shift()?.() ?? [];
        return [];
      };
    },
  };
  for (const [kind, prepare] of Object.entries(switches)) {
    test(`is switched, and clients get all of it as one change (${kind})`, async (t) => {
      const { backend, recorder, world } = await node(t);
      prepare(world);
      recorder.published.length = 0;
      assert.deepEqual(await backend.handle(profile('surround')), { ok: true, value: {} });
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
  test('an unplugged output and the streams that played to it change together; commands no longer find the output', async (t) => {
    const { backend, recorder, server, world } = await node(t);
    world.sinks.delete(0);
    // Its index is given away at once.
    world.sinks.set(0, ['hdmi', {}]);
    Object.assign(world, { cards: [], default: 'kitchen', streamOn: 1 });
    recorder.published.length = 0;
    server.responder.send(Buffer.concat([event('sinkRemove', 0), event('sinkNew', 0)]));
    await until('the other one is shown', () => recorder.output('hdmi') !== undefined);
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
    const { recorder, server, world } = await node(t);
    world.sinks.set(0, ['hdmi', {}]);
    recorder.published.length = 0;
    server.responder.send(event('sinkChange', 0));
    await until('the other output is shown', () => recorder.output('hdmi') !== undefined);
    assert.equal(recorder.published[0], 'drop audio.outputs 0');
  });

  /** A mixer with steps of 3 %. */
  const STEP = 1966;
  test('an output whose mixer has coarse steps moves by small deltas, and shows what the mixer does', async (t) => {
    const world = new World();
    const set = (raw: number): void =>
      void world.sinks.set(1, ['kitchen', { volume: [Math.round(raw / STEP) * STEP, 0] }]);
    set(10 * STEP);
    const { backend, recorder } = await connected(t, (request, responder) => {
      if (request.command !== COMMAND.setSinkVolume) return world.handler(request, responder);
      set(request.fields.readUInt32BE(request.fields.indexOf('v') + 2));
      return responder.reply(request.tag);
    });
    const after = async (delta: number): Promise<number | undefined> => {
      await backend.handle({ do: 'delta', target: { kind: 'output', ref: 'kitchen' }, delta });
      return recorder.output('kitchen')?.volume;
    };
    const volumes = [];
    for (const delta of [0.01, 0.01, 0.01, 0.01, 0.01, -0.01, -0.01, -0.01]) volumes.push(await after(delta));
    assert.deepEqual(volumes, [0.3, 0.33, 0.33, 0.33, 0.36, 0.33, 0.33, 0.33]);
  });
});

describe('the lack of any card', DEADLINE, () => {
  test('is the reason that the backend reports, until a card appears', async (t) => {
    const sinks: World['sinks'] = new Map([[0, ['auto_null', {}]]]);
    const bare = { sinks, cards: [], default: 'auto_null' };
    const { recorder, server, world } = await node(t, bare, { noCardMs: 1 });
    const isPublished = (line: RegExp): boolean => recorder.published.some((each) => line.test(each));
    await until('the detail is published', () => isPublished(/^up: The sound server sees no sound card: \w/));
    assert.ok(recorder.logs.includes('warn: the sound server sees no sound card'));
    world.cards = [CARD];
    server.responder.send(event('cardNew', CARD));
    await until('the detail goes', () => recorder.logs.at(-1) === 'info: the sound server sees a sound card');
    assert.equal(recorder.published.at(-1), 'up');
  });

  test('has one of three reasons: there is no card, it may not be opened, or it is not used', async (t) => {
    const folder = temporaryFolder(t);
    assert.match(await whyNoCard(join(folder, 'nowhere')), /^the kernel has none/);
    writeFileSync(join(folder, 'timer'), '');
    assert.match(await whyNoCard(folder), /^the kernel has none/);
    // A file that nobody can open, not even root.
    symlinkSync('nowhere', join(folder, 'controlC1'));
    const why = await whyNoCard(folder);
    assert.match(why, /^this user may not open .*controlC1, because it is neither in the group audio/);
    writeFileSync(join(folder, 'controlC0'), '');
    assert.match(await whyNoCard(folder), /^this user may open one/);
  });
});
