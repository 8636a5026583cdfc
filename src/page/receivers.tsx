// Names the apps in which a person can choose this node. They follow from the units that run, and from
// Bluetooth.

import type { NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';

/** A unit whose name matches the pattern receives sound from the app. */
const RECEIVERS: readonly (readonly [pattern: RegExp, app: string])[] = [
  [/spotifyd|librespot|raspotify/, 'Spotify'],
  [/shairport|airplay/, 'AirPlay'],
  [/upmpdcli|gmediarender|rygel|dlna/, 'UPnP'],
  [/plexamp/, 'Plexamp'],
  [/squeezelite/, 'Lyrion'],
  [/roon/, 'Roon'],
];

export function Receivers({ state }: { readonly state: NodeState }) {
  const { units, backends, bluetooth, server } = state;
  const running = [...units.values()].filter((unit) => unit.running);
  const receivers = RECEIVERS.filter(([pattern]) => running.some(({ name }) => pattern.test(name)));
  const apps = receivers.map(([, app]) => app);
  const isBluetoothUp = backends.get('bluetooth')?.state === 'up';
  if (isBluetoothUp && bluetooth?.powered) apps.push('Bluetooth');
  if (apps.length === 0) return null;
  const name = isolated(server?.hostname ?? '');
  return <p class="quiet wrap">{translate('chooseIn', { name, apps: alternatives(apps) })}</p>;
}

/** Joins the words. For example, three become `A, B or C`. */
function alternatives(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  if (words.length < 2) return last;
  return translate('either', { before: words.slice(0, -1).join(', '), last });
}
