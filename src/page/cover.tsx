// The cover of a player's current track.

import { useEffect, useState } from 'preact/hooks';
import type { PlayerRecord } from '../client/client.js';
import { Icon } from './icons.js';
import { node } from './node.js';

/** A cover that failed may be there later: the web is slow, or a player still writes its file. */
const TRY_AGAIN_MS = 60_000;

/**
 * Only covers that the node serves: loading one from elsewhere would disclose what is played here. Where the node does not fetch covers
 * from the web, it leads there, and the page's own policy stops the browser.
 */
export function Cover({ player }: { readonly player: PlayerRecord }) {
  const art = player.metadata?.['mpris:artUrl'] ?? '';
  const [broken, setBroken] = useState('');
  useEffect(() => {
    if (broken === '') return;
    const timer = setTimeout(() => setBroken(''), TRY_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [broken]);
  const isOurs = /^(?:file|data|https?):/i.test(art) && broken !== art;
  return (
    <div class="cover" aria-hidden="true">
      {isOurs ? (
        <img
          src={`${node.coverUrl(player.bus_name)}?of=${hashOf(art)}`}
          alt=""
          onError={() => setBroken(art)}
        />
      ) : (
        <Icon name="note" />
      )}
    </div>
  );
}

/** Each picture gets its own address, so that the browser loads a picture only once. */
function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}
