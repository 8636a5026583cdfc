// Draws the large card of a node without a media player: the first stream of sound that plays, the number of
// further streams that play, and the volume of the output.

import type { NodeState } from '../client/client.js';
import { translate } from './language.js';
import { largePlayerButtons } from './large-player-buttons.js';
import { mainOutput, OutputVolume } from './main-volume.js';
import { ForeignText } from './parts.js';
import { PlayingOn } from './playing-on.js';
import { Receivers } from './receivers.js';
import { NoCover, playingTitle, soundingStreams } from './transport.js';

export function CurrentStreams(state: NodeState) {
  const streams = soundingStreams(state.clients);
  const [firstStream] = streams;
  const output = mainOutput(state);
  // The output or the stream may be muted. The card does not say so if no stream plays.
  const isMuted = firstStream !== undefined && (output?.muted === true || firstStream.muted);
  const otherCount = streams.length - 1;
  const othersText = otherCount > 0 ? ` · ${translate('andMore', { count: otherCount })}` : '';
  return (
    <article class="card hero sounding">
      <div class="cover" aria-hidden="true">
        {/* While no stream plays, the last cover of a player is drawn if there is one. */}
        <NoCover showsLastCover={firstStream === undefined} />
      </div>
      <div class="hero-side">
        {/* The foot has a small player while the large player's buttons are off the screen (foot.tsx). */}
        {/* This card has no such buttons, so the element around its text is watched instead. */}
        <div ref={largePlayerButtons.watch}>
          <ForeignText class="title">{playingTitle(state)}</ForeignText>
          {firstStream === undefined ? (
            <Receivers state={state} />
          ) : (
            <p class="quiet clip">
              <bdi>{firstStream.app}</bdi>
              {othersText}
            </p>
          )}
          {isMuted ? <p>{translate('muted')}</p> : null}
        </div>
        <PlayingOn output={output} state={state} />
      </div>
      {output === undefined ? null : <OutputVolume output={output} isMain />}
    </article>
  );
}
