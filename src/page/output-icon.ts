// Decides which icon an output has, by the words of its port, its device and its name. Pure.

import type { OutputRecord } from '../client/client.js';
import type { IconName } from './icons.js';

interface IconRow {
  readonly wordPattern: RegExp;
  readonly icon: IconName;
}

/** The first row that matches decides. Headphones with Bluetooth thus have the icon of headphones. */
const ICONS: readonly IconRow[] = [
  { wordPattern: /head(?:phone|set)/i, icon: 'headphones' },
  { wordPattern: /hdmi|displayport|\btv\b/i, icon: 'screen' },
  { wordPattern: /bluez|bluetooth/i, icon: 'bluetooth' },
];

export function outputIcon(output: OutputRecord): IconName {
  const { active_port, ports, props, name, description } = output;
  if ('group' in output) return 'group';
  const activePort = ports?.find((candidate) => candidate.name === active_port);
  const device = [props['device.form_factor'], props['device.bus'], name, description];
  const words = [active_port, activePort?.description, ...device].join(' ');
  return ICONS.find(({ wordPattern }) => wordPattern.test(words))?.icon ?? 'speaker';
}
