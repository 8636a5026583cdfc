// Decides which icon an output has, by the words of its port, its device and its name. Pure.

import type { OutputRecord } from '../client/client.js';
import type { IconName } from './icons.js';

/** The first row that matches decides: headphones with Bluetooth have the icon of headphones. */
const ICONS: readonly (readonly [word: RegExp, icon: IconName])[] = [
  [/head(?:phone|set)/i, 'headphones'],
  [/hdmi|displayport|\btv\b/i, 'screen'],
  [/bluez|bluetooth/i, 'bluetooth'],
];

export function outputIcon(output: OutputRecord): IconName {
  const { active_port: port, ports, props, name, description } = output;
  if ('group' in output) return 'group';
  const socket = ports?.find(({ name }) => name === port)?.description;
  const words = [port, socket, props['device.form_factor'], props['device.bus'], name, description].join(' ');
  return ICONS.find(([word]) => word.test(words))?.[1] ?? 'speaker';
}
