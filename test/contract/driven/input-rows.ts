// Rows of the table (row.ts) about the inputs of the sound server: the routes that begin with /audio/inputs,
// the events of inputs, and the keys `pulseaudio.listen` and `pulseaudio.listenLatency`.

import assert from 'node:assert/strict';
import type { InputRecord } from '../../../src/protocol/actor/schemas.js';
import type { House } from './house.js';
import type { Row } from './row.js';
import { untilPactl } from './sound-rows.js';

const readMicrophone = async ({ house }: House): Promise<InputRecord> =>
  (await house.read<readonly InputRecord[]>('/audio/inputs')).find(({ name }) => name === 'mike') ??
  assert.fail('there is no microphone');

/** Runs `use` while there is an input of this name. Resolves after the event of the input's removal. */
async function withInput(node: House, inputName: string, use: () => Promise<void>): Promise<void> {
  const moduleArgument = `source_name=${inputName}`;
  const module = (await node.sound.pactl('load-module', 'module-null-source', moduleArgument)).trim();
  try {
    await node.house.untilRead<readonly InputRecord[]>('/audio/inputs', (inputs) =>
      inputs.some(({ name }) => name === inputName),
    );
    await use();
  } finally {
    await node.sound.pactl('unload-module', module);
  }
  // Without this wait, the event could come during the next row, which may wait for such an event, too.
  await node.house.untilEvent('audio.input.removed', (data) => data.includes(`"${inputName}"`));
}

/** Returns a pattern for every text that does not contain `part`. `[\s\S]` also matches the end of a line. */
const without = (part: string): RegExp => new RegExp(`^(?![\\s\\S]*${part})`);

export const INPUT_ROWS: readonly Row<House>[] = [
  {
    drives: [
      'operation inputs',
      'operation muteInput',
      'operation setInputVolume',
      'operation setInputBalance',
      'operation setDefaultInput',
      'event audio.input.updated',
    ],
    title:
      'commands set volume, mute and balance of an input and make it the default, and an event announces the mute',
    run: (node) =>
      withInput(node, 'mike', async () => {
        await node.house.post('/audio/inputs/mike/volume', { volume: 0.4 });
        await node.house.post('/audio/inputs/mike/balance', { balance: -1 });
        await node.house.post('/audio/inputs/mike/mute');
        await node.house.post('/audio/inputs/mike/default');
        await untilPactl(node, / 40% [\s\S]*balance -1\.00/, 'get-source-volume', 'mike');
        await untilPactl(node, /yes/, 'get-source-mute', 'mike');
        await untilPactl(node, /^mike$/m, 'get-default-source');
        const { volume, balance, muted, default: isDefault } = await readMicrophone(node);
        assert.deepEqual([volume, balance, muted, isDefault], [0.4, -1, true, true]);
        await node.house.untilEvent('audio.input.updated', (data) => data.includes('"muted":true'));
      }),
  },
  {
    drives: ['event audio.input.removed'],
    title: 'the removal of an input is an event',
    // `withInput` waits for the event.
    run: (node) => withInput(node, 'mike', async () => undefined),
  },
  {
    drives: ['operation setInputPort'],
    title: 'a command switches an input to another port',
    run: async ({ cards, card }) => {
      await cards.post('/audio/inputs/line-in/port', { port: 'front' });
      assert.equal(card.state.inputPort, 'front');
      const [lineIn] = await cards.read<readonly InputRecord[]>('/audio/inputs');
      assert.equal(lineIn?.active_port, 'front');
    },
  },
  {
    drives: ['operation listenToInput', 'operation stopListening'],
    title: 'a command plays an input to an output, and another command stops that',
    run: (node) =>
      withInput(node, 'mike', async () => {
        await node.house.post('/audio/inputs/mike/listen', { output: 'kitchen' });
        await untilPactl(node, /source=mike sink=kitchen /, 'list', 'modules');
        await node.house.untilRead<readonly InputRecord[]>('/audio/inputs', (inputs) =>
          inputs.some(({ listen }) => listen?.[0] === 'kitchen'),
        );
        await node.house.post('/audio/inputs/mike/listen/stop');
        await untilPactl(node, without('source=mike sink'), 'list', 'modules');
      }),
  },
  {
    drives: ['key pulseaudio.listen', 'key pulseaudio.listenLatency'],
    title:
      'the node plays a new input to its output in pulseaudio.listen, with the delay pulseaudio.listenLatency',
    run: (node) =>
      withInput(node, 'phono', async () => {
        // `houseConfig` (house.ts) lets `living` play the input `phono`, with a delay of 250 ms.
        await untilPactl(node, /source=phono sink=living latency_msec=250 /, 'list', 'modules');
        await node.house.post('/audio/inputs/phono/listen/stop', { output: 'living' });
        await untilPactl(node, without('source=phono sink'), 'list', 'modules');
      }),
  },
];
