// Tests the page's section of inputs in Chromium, and the commands that it sends.

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { drop, put } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { answerChecksAtOnce, commandsAre, nextCommand, node, openPage, page, pageForEach } from './pages.js';

const input = (more: object = {}) =>
  put('audio.inputs', '40', {
    id: 40,
    name: 'mike',
    description: 'Turntable',
    muted: false,
    volume: 0.5,
    state: 'idle',
    default: true,
    props: {},
    balance: 0,
    ...more,
  });
const TURNTABLE = { kind: 'input', ref: '40' };

describe('the section of inputs', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach({ locale: 'en-GB', viewport: { width: 1280, height: 1800 } });
  answerChecksAtOnce();
  beforeEach(() => openPage());

  test('the section of inputs is shown as long as there is an input', async () => {
    const section = page.locator('#inputs');
    assert.equal(await section.count(), 0);
    node.change(input());
    await section.getByText('Turntable').waitFor();
    node.change(drop('audio.inputs', '40'));
    await section.waitFor({ state: 'detached' });
  });

  test('the section of inputs has controls for the mute and the volume of an input, and for the output that plays it', async () => {
    node.change(input());
    await page.getByRole('button', { name: 'Mute Turntable' }).click();
    assert.deepEqual(await nextCommand(), { do: 'mute', target: TURNTABLE, muted: true });
    await page.getByRole('slider', { name: 'Volume of Turntable' }).press('End');
    assert.deepEqual(await nextCommand(), { do: 'volume', target: TURNTABLE, volume: 1 });
    const choice = page.getByRole('combobox', { name: 'Where Turntable is heard' });
    await choice.selectOption('Kitchen');
    assert.deepEqual(await nextCommand(), { do: 'listen', input: '40', output: 'output-1' });
    node.change(input({ listen: ['output-1'] }));
    await until('the kitchen is displayed', async () => (await choice.inputValue()) === 'output-1');
    await choice.selectOption('Living room');
    await commandsAre(
      { do: 'listen', input: '40', output: 'output-0' },
      { do: 'stop-listen', input: '40', output: 'output-1' },
    );
    // The scripted node carries out no command, so in its next record the input still plays only in the
    // kitchen.
    node.change(input({ listen: ['output-1'] }));
    await choice.selectOption('Nowhere');
    assert.deepEqual(await nextCommand(), { do: 'stop-listen', input: '40', output: 'output-1' });
  });

  test('the button Use makes an input the default, and the button More shows the controls for the port and the balance of the input', async () => {
    const ports = [
      { name: 'line', description: 'Line in', available: 'yes' },
      { name: 'phono', description: 'Phono', available: 'unknown' },
    ];
    node.change(input({ default: false, active_port: 'line', ports }));
    const useButton = page.getByRole('button', { name: 'Use Turntable' });
    await useButton.click();
    assert.deepEqual(await nextCommand(), { do: 'default', input: '40' });
    node.change(input({ active_port: 'line', ports }));
    await useButton.and(page.locator('[aria-pressed=true]')).waitFor();
    await page.getByRole('button', { name: 'More of Turntable' }).click();
    await page.getByRole('combobox', { name: 'Socket of Turntable' }).selectOption('Phono');
    assert.deepEqual(await nextCommand(), { do: 'port', input: '40', port: 'phono' });
    await page.getByRole('slider', { name: 'Balance of Turntable' }).press('End');
    assert.deepEqual(await nextCommand(), { do: 'balance', input: '40', balance: 1 });
  });
});
