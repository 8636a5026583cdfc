// The current track, as large as possible, for a wall or a television; dimmed while nobody uses it.

import { useEffect, useState } from 'preact/hooks';
import type { OutputRecord, PlayerRecord, Tonearm } from '../client/client.js';
import { Cover } from './cover.js';
import { translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { ForeignLine } from './parts.js';
import { PositionBar } from './position-bar.js';
import { watchHands } from './pulse.js';
import { TransportButtons, titleOf } from './transport.js';

/** Dimmed after this time without input. */
const REST_MS = 15_000;
const LOOK_MS = 1000;

interface WallProps {
  readonly node: Tonearm;
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
  readonly now: () => number;
}

export function Wall({ node, player, output, now }: WallProps) {
  const rests = useRest();
  const { 'xesam:artist': artist, 'xesam:album': album } = player?.metadata ?? {};
  const maker = [artist, album].filter(Boolean).join(' – ');
  return (
    <div class={`wall ${rests ? 'rests' : ''}`} id="now">
      {player === undefined ? null : <Cover node={node} player={player} />}
      <div class="wall-side">
        <ForeignLine class="wall-title">
          {player === undefined ? translate('nothingPlays') : titleOf(player)}
        </ForeignLine>
        {maker === '' ? null : <ForeignLine>{maker}</ForeignLine>}
        {player === undefined ? null : (
          <>
            <PositionBar node={node} player={player} title={titleOf(player)} now={now} />
            <div class="row transport">
              <TransportButtons node={node} player={player} label={(what) => what} />
            </div>
          </>
        )}
        {output === undefined ? null : <OutputVolume node={node} output={output} isMain />}
      </div>
    </div>
  );
}

function useRest(): boolean {
  const [rests, setRests] = useState(false);
  useEffect(() => {
    const handMs = watchHands(document);
    const timer = setInterval(() => setRests(handMs() > REST_MS), LOOK_MS);
    const wake = (): void => setRests(false);
    addEventListener('pointermove', wake);
    addEventListener('keydown', wake);
    return () => {
      clearInterval(timer);
      removeEventListener('pointermove', wake);
      removeEventListener('keydown', wake);
    };
  }, []);
  return rests;
}
