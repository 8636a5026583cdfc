// The current streams in one sentence, for nodes without a media player.

import type { ClientRecord, OutputRecord, Tonearm } from '../client/client.js';
import { HeardVolume, heardOutput } from './heard.js';
import { say } from './language.js';
import { outputName } from './output-choice.js';
import { Empty, Line } from './parts.js';

interface SoundingProps {
  readonly node: Tonearm;
  readonly streams: readonly ClientRecord[];
  readonly outputs: readonly OutputRecord[];
}

export function Sounding({ node, streams, outputs }: SoundingProps) {
  const sounding = streams.filter(({ corked }) => !corked);
  const [first] = sounding;
  if (first === undefined) return <Empty>{say('nothingPlays')}</Empty>;
  const output = heardOutput(outputs, streams);
  const where = output === undefined ? first.output : outputName(output);
  return (
    <div class="card sounding">
      <Line class="title">{first.name}</Line>
      <p class="quiet clip">
        <bdi>{first.app}</bdi>
        {where === undefined ? null : (
          <>
            {' · '}
            <bdi>{where}</bdi>
          </>
        )}
        {sounding.length > 1 ? ` · ${say('andMore', { count: sounding.length - 1 })}` : ''}
      </p>
      {output?.muted || first.muted ? <p class="warn">{say('muted')}</p> : null}
      {output === undefined ? null : <HeardVolume node={node} output={output} />}
    </div>
  );
}
