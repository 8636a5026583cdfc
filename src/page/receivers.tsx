// Draws the sentence that is there while nothing plays: in which apps a person can choose this node. The
// apps follow from the units that run, and from Bluetooth.

import type { NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';

/** The app for each program that receives sound. A program is recognized by the name of its unit. */
const RECEIVERS: readonly (readonly [program: RegExp, app: string])[] = [
  [/spotifyd|librespot|raspotify/, 'Spotify'],
  [/shairport|airplay/, 'AirPlay'],
  [/upmpdcli|gmediarender|rygel|dlna/, 'UPnP'],
  [/plexamp/, 'Plexamp'],
  [/squeezelite/, 'Lyrion'],
  [/roon/, 'Roon'],
];

export function Receivers({ state: { units, bluetooth, server } }: { readonly state: NodeState }) {
  const running = [...units.values()].filter((unit) => unit.running);
  const receivers = RECEIVERS.filter(([program]) => running.some(({ name }) => program.test(name)));
  const apps = receivers.map(([, app]) => app);
  if (bluetooth?.powered) apps.push('Bluetooth');
  if (apps.length === 0) return null;
  const name = isolated(server?.hostname ?? '');
  return <p class="quiet wrap">{translate('chooseIn', { name, apps: listOf(apps) })}</p>;
}

/** `A, B or C`. */
function listOf(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  if (words.length < 2) return last;
  return translate('either', { before: words.slice(0, -1).join(', '), last });
}
