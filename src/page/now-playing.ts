// Shows the current track outside the page: in the tab's title and on the browser's media keys and lock screens.

import { useEffect } from 'preact/hooks';
import type { PlayerRecord } from '../client/client.js';
import { node } from './node.js';
import { hasTrack, isPlaying, titleOf } from './transport.js';

/** `name` is the node's. */
export function useTabTitle(name: string, player: PlayerRecord | undefined): void {
  const track =
    player !== undefined && isPlaying(player) ? [titleOf(player), player.metadata?.['xesam:artist']] : [];
  const title = [...track, name].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const NO_TRACK = { metadata: null, playbackState: 'none' } as const;

/** Media keys control the player, if the browser supports them. */
export function useMediaKeys(player: PlayerRecord | undefined): void {
  useEffect(() => {
    const { mediaSession: session } = navigator;
    // Missing in Safari before 15, and in some browsers for pages without https.
    if (session === undefined) return;
    if (player === undefined || !hasTrack(player)) {
      Object.assign(session, NO_TRACK);
      return;
    }
    const { bus_name, metadata = {}, capabilities: can } = player;
    session.metadata = new MediaMetadata({
      title: titleOf(player),
      artist: metadata['xesam:artist'] ?? '',
      album: metadata['xesam:album'] ?? '',
    });
    session.playbackState = isPlaying(player) ? 'playing' : 'paused';
    const keys = [
      ['play', can.can_play, node.play],
      ['pause', can.can_pause, node.pause],
      ['nexttrack', can.can_go_next, node.next],
      ['previoustrack', can.can_go_previous, node.previous],
    ] as const;
    for (const [key, isAble, send] of keys) {
      // A media key cannot show an error; the page shows the real state.
      const press = (): void => void send(bus_name).catch(() => undefined);
      session.setActionHandler(key, isAble ? press : null);
    }
  }, [player]);
}
