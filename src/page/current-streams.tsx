// Shows what plays on a node without a media player: the streams in one sentence, with the volume of their
// output.

import type { NodeState } from '../client/client.js';
import { translate } from './language.js';
import { mainOutput, OutputVolume, soundingOf } from './main-volume.js';
import { ForeignLine } from './parts.js';
import { PlayingOn } from './playing-on.js';
import { Receivers } from './receivers.js';
import { sight } from './sight.js';
import { NoCover } from './transport.js';

export function CurrentStreams(state: NodeState) {
  const sounding = soundingOf(state.clients);
  const [first] = sounding;
  const output = mainOutput(state);
  const isMuted = first !== undefined && (output?.muted === true || first.muted);
  const others = sounding.length > 1 ? ` · ${translate('andMore', { count: sounding.length - 1 })}` : '';
  return (
    <article class="card hero sounding">
      <div class="cover" aria-hidden="true">
        <NoCover isLarge={first === undefined} />
      </div>
      <div class="hero-side">
        <div ref={sight.watch}>
          <ForeignLine class="title">{first?.name ?? translate('nothingPlays')}</ForeignLine>
          {first === undefined ? (
            <Receivers state={state} />
          ) : (
            <p class="quiet clip">
              <bdi>{first.app}</bdi>
              {others}
            </p>
          )}
          {isMuted ? <p class="warn">{translate('muted')}</p> : null}
        </div>
        <PlayingOn output={output} state={state} />
      </div>
      {output === undefined ? null : <OutputVolume output={output} isMain />}
    </article>
  );
}
