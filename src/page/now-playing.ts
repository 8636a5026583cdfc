// What plays, told to the browser: the tab's title, and the keys and lock screens that it gives pages.

import { useEffect } from 'preact/hooks';
import type { PlayerRecord, Tonearm } from '../client/client.js';
import { hasTrack, isPlaying, titleOf } from './transport.js';

/** `node` is its name. */
export function useTabTitle(node: string, player: PlayerRecord | undefined): void {
  const artist = player?.metadata?.['xesam:artist'];
  const track = player === undefined || !isPlaying(player) ? [] : [titleOf(player), artist];
  const title = [...track, node].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const NO_TRACK = { metadata: null, playbackState: 'none' } as const;

/** Where the browser has such keys, they work the player. */
export function useMediaKeys(node: Tonearm, player: PlayerRecord | undefined): void {
  useEffect(() => {
    const { mediaSession: session } = navigator;
    // Safari before 15, and pages without https in some browsers, have none.
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
      // A key has no place for an error; the page shows what is.
      const press = (): void => void send(bus_name).catch(() => undefined);
      session.setActionHandler(key, isAble ? press : null);
    }
  }, [node, player]);
}
