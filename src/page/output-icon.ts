// Decides which icon an output has. A group has an icon of its own. The icon of any other output depends on
// the words of its port, device, name and description. Pure.

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
  const otherTexts = [props['device.form_factor'], props['device.bus'], name, description];
  const words = [active_port, activePort?.description, ...otherTexts].join(' ');
  return ICONS.find(({ wordPattern }) => wordPattern.test(words))?.icon ?? 'speaker';
}
