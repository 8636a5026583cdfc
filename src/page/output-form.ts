// Decides the kind of an output, by its port, its device and its name, and which icon stands for it. Pure.

import type { OutputRecord } from '../client/client.js';
import type { IconName } from './icons.js';

/** The first row that matches counts: a headphone socket of a Bluetooth device is headphones. */
const FORMS: readonly (readonly [words: RegExp, icon: IconName])[] = [
  [/head(?:phone|set)/i, 'headphones'],
  [/hdmi|displayport|\btv\b/i, 'screen'],
  [/bluez|bluetooth/i, 'bluetooth'],
];

export function iconOf(output: OutputRecord): IconName {
  const { active_port: port, ports, props, name, description } = output;
  if ('group' in output) return 'group';
  const socket = ports?.find((each) => each.name === port)?.description;
  const words = [port, socket, props['device.form_factor'], props['device.bus'], name, description].join(' ');
  return FORMS.find(([form]) => form.test(words))?.[1] ?? 'speaker';
}
