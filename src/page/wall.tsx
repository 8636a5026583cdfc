// The current track, as large as possible, for a wall or a television; dimmed while nobody uses it.

import { useEffect, useState } from 'preact/hooks';
import type { OutputRecord, PlayerRecord } from '../client/client.js';
import { Cover } from './cover.js';
import { translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { ForeignLine } from './parts.js';
import { PositionBar } from './position-bar.js';
import { watchHands } from './pulse.js';
import { makerOf, TransportButtons, titleOf } from './transport.js';

/** Dimmed after this time without input. */
const REST_MS = 15_000;
const LOOK_MS = 250;

interface WallProps {
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
}

export function Wall({ player, output }: WallProps) {
  const [rests, setRests] = useState(false);
  useEffect(() => {
    const handMs = watchHands(document);
    const timer = setInterval(() => setRests(handMs() > REST_MS), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const maker = player === undefined ? '' : makerOf(player);
  return (
    <div class={`wall ${rests ? 'rests' : ''}`} id="now">
      {player === undefined ? null : <Cover player={player} />}
      <div class="wall-side">
        <ForeignLine class="wall-title">
          {player === undefined ? translate('nothingPlays') : titleOf(player)}
        </ForeignLine>
        {maker === '' ? null : <ForeignLine>{maker}</ForeignLine>}
        {player === undefined ? null : (
          <>
            <PositionBar player={player} />
            <div class="row transport">
              <TransportButtons player={player} label={(what) => what} />
            </div>
          </>
        )}
        {output === undefined ? null : <OutputVolume output={output} isMain />}
      </div>
    </div>
  );
}
