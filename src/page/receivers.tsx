// Says what to do while nothing plays: in which apps the node can be chosen, by the units that run, and by
// Bluetooth.

import type { NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';

/** The app in which people choose each of these programs. */
const RECEIVERS: readonly (readonly [unit: RegExp, app: string])[] = [
  [/spotifyd|librespot|raspotify/, 'Spotify'],
  [/shairport|airplay/, 'AirPlay'],
  [/upmpdcli|gmediarender|rygel|dlna/, 'UPnP'],
  [/plexamp/, 'Plexamp'],
  [/squeezelite/, 'Lyrion'],
  [/roon/, 'Roon'],
];

export function Receivers({ state: { units, bluetooth, server } }: { readonly state: NodeState }) {
  const running = [...units.values()].filter(({ running }) => running).map(({ name }) => name);
  const apps = RECEIVERS.filter(([unit]) => running.some((name) => unit.test(name))).map(([, app]) => app);
  const all = [...apps, ...(bluetooth?.powered ? ['Bluetooth'] : [])];
  if (all.length === 0) return null;
  const name = isolated(server?.hostname ?? '');
  return <p class="quiet wrap">{translate('chooseIn', { name, apps: listOf(all) })}</p>;
}

/** `A, B or C`. */
function listOf(words: readonly string[]): string {
  const [last = '', ...before] = [...words].reverse();
  if (before.length === 0) return last;
  return translate('either', { before: before.reverse().join(', '), last });
}
