// The order of messages: a broker, and so Home Assistant, must get the device message before anything that would be an error without it.

import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Broker, startBroker } from '../../broker/mosquitto.js';
import { drop, output, put, SimulatedNode } from '../../broker/simulated-node.js';
import { type Seen, Spy } from '../../broker/spy.js';
import { lacks } from '../../tools/requirements.js';
import { until } from '../../until.js';

const T = 'tonearm/living';
const KITCHEN = `${T}/audio/outputs/kitchen`;
const SERVER = `${T}/audio/server`;
const DEVICE = 'homeassistant/device/tonearm_0123456789abcdef/config';

const defaultOutput = (name: string) =>
  put('audio.server', '', { kind: 'pulseaudio', default_sink: name, volume: 0.42, muted: false });

describe('messages to Home Assistant', { skip: lacks({ programs: ['mosquitto'] }) }, () => {
  let broker: Broker;
  before(async () => {
    broker = await startBroker();
  });
  after(() => broker.stop());

  async function served(t: TestContext, homeAssistant = true): Promise<{ node: SimulatedNode; spy: Spy }> {
    const spy = await Spy.on(broker.url);
    t.after(() => spy.end());
    const node = SimulatedNode.on(t, { url: broker.url, settings: { homeAssistant } });
    await node.up();
    await spy.holds(SERVER);
    return { node, spy };
  }

  const first = (seen: readonly Seen[], topic: string, fits: (text: string) => boolean): number =>
    seen.findIndex((each) => each.topic === topic && fits(each.text));
  const offers = (text: string): boolean =>
    JSON.parse(text).components.default_output.options.includes('Kitchen');
  const names = (text: string): boolean =>
    'state_topic' in (JSON.parse(text).components.output_kitchen_mute ?? {});

  test('begin with the device message, when an output goes and when it returns as the default', async (t) => {
    const { node, spy } = await served(t);
    await spy.holds(DEVICE, (text) => names(text) && offers(text));
    const from = spy.seen.length;
    node.tell(defaultOutput('alsa'), drop('audio.outputs', '2'));
    await spy.empty(KITCHEN);
    const going = spy.seen.slice(from);
    const left = first(going, DEVICE, (text) => !names(text));
    assert.ok(left >= 0 && left < first(going, KITCHEN, (text) => text === ''));
    const back = spy.seen.length;
    node.tell(
      put('audio.outputs', '3', output(3, 'kitchen', { description: 'Kitchen' })),
      defaultOutput('kitchen'),
    );
    await spy.holds(SERVER, (text) => text.includes('kitchen'));
    const coming = spy.seen.slice(back);
    const offered = first(coming, DEVICE, offers);
    assert.ok(offered >= 0 && offered < first(coming, SERVER, (text) => text.includes('kitchen')));
  });

  for (const isThere of [true, false])
    test(`do not delay a default output that is not listed, with Home Assistant: ${isThere}`, async (t) => {
      const { node, spy } = await served(t, isThere);
      node.tell(defaultOutput('nosuch'), drop('audio.outputs', '2'));
      await spy.holds(SERVER, (text) => text.includes('nosuch'));
      await spy.empty(KITCHEN);
    });

  test('repeat the default output behind the device message when it is renamed', async (t) => {
    const { node, spy } = await served(t);
    await spy.holds(DEVICE, offers);
    const from = spy.seen.length;
    node.tell(put('audio.outputs', '1', output(1, 'alsa', { description: 'Parlour' })));
    await until('the default output is published again', () =>
      spy.seen.slice(from).some(({ topic }) => topic === SERVER),
    );
    const seen = spy.seen.slice(from);
    const told = first(seen, DEVICE, (text) => text.includes('"Parlour"'));
    assert.ok(told >= 0 && told < first(seen, SERVER, () => true));
    node.tell(put('audio.outputs', '2', output(2, 'kitchen', { description: 'Larder' })));
    await spy.holds(DEVICE, (text) => text.includes('"Larder"'));
    await spy.publish('fence', '');
    await until('the fence is seen', () => spy.seen.some(({ topic }) => topic === 'fence'));
    assert.equal(spy.seen.slice(from).filter(({ topic }) => topic === SERVER).length, 1);
  });
});
