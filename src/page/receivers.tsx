// Names the apps in which a person can choose this node. Each app needs a running unit that receives the
// app's sound. Bluetooth counts as an app while the adapter is on.

import type { NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';

/** In each row, a unit whose name matches the pattern receives sound from the app. */
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
  const runningUnits = [...units.values()].filter((unit) => unit.running);
  const receivers = RECEIVERS.filter(([pattern]) => runningUnits.some(({ name }) => pattern.test(name)));
  const apps = receivers.map(([, app]) => app);
  const isBluetoothUp = backends.get('bluetooth')?.state === 'up';
  if (isBluetoothUp && bluetooth?.powered) apps.push('Bluetooth');
  if (apps.length === 0) return null;
  const nodeName = isolated(server?.hostname ?? '');
  return <p class="quiet wrap">{translate('chooseIn', { name: nodeName, apps: alternatives(apps) })}</p>;
}

/** Joins the names of the apps. For example, three names become `A, B or C`. */
function alternatives(apps: readonly string[]): string {
  const last = apps.at(-1) ?? '';
  if (apps.length < 2) return last;
  return translate('either', { before: apps.slice(0, -1).join(', '), last });
}
