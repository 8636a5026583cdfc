// The cover of what a player plays.

import { useState } from 'preact/hooks';
import type { PlayerRecord, Tonearm } from '../client/client.js';
import { Icon } from './icons.js';

/** Of the node only: a cover that lies elsewhere on the network would tell others what is played here. */
export function Cover({ node, player }: { readonly node: Tonearm; readonly player: PlayerRecord }) {
  const art = player.metadata?.['mpris:artUrl'] ?? '';
  const [broken, setBroken] = useState('');
  const isOurs = /^(?:file|data):/i.test(art) && broken !== art;
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

/** Another picture has another address, and an image that is shown is not asked for again. */
function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_000_007, 7);
}
