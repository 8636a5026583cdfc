// The volume control of an output, and the main one, for the output that plays now: beside the current track, and at the foot of a phone's page.

import { useContext, useRef } from 'preact/hooks';
import type { ClientRecord, NodeState, OutputRecord, PlayerRecord, Tonearm } from '../client/client.js';
import { Toggle } from './controls.js';
import { IconButton } from './icons.js';
import { formatPercent, translate } from './language.js';
import { Reporting } from './notices.js';
import { outputName, volumeLimitOf } from './output-choice.js';
import { Empty, ForeignLine } from './parts.js';
import { Slider } from './slider.js';
import { isPlaying, PlayButton, streamsOf, titleOf } from './transport.js';

/** The change per press of a button, or per notch of a wheel. */
const STEP = 0.05;

/** The output of the player's stream, else of any stream that plays, else the default. */
export function mainOutput(
  outputs: readonly OutputRecord[],
  streams: readonly ClientRecord[],
  player?: PlayerRecord,
): OutputRecord | undefined {
  const own = player === undefined ? [] : streamsOf(player, streams);
  const stream = own[0] ?? (player === undefined ? streams.find(({ corked }) => !corked) : undefined);
  return outputs.find(({ name }) => name === stream?.output) ?? outputs.find((each) => each.default);
}

interface VolumeProps {
  readonly node: Tonearm;
  readonly output: OutputRecord;
}

export function OutputVolume({ node, output, isMain }: VolumeProps & { readonly isMain?: boolean }) {
  const { id, muted, volume } = output;
  const name = outputName(output);
  return (
    <div class={`row ${isMain ? 'heard' : ''}`}>
      <Toggle
        label={translate(isMain ? 'muteHere' : 'muteOf', { name })}
        icon="volume"
        iconOn="muted"
        isOn={muted}
        send={(wanted) => node.muteOutput(id, { muted: wanted })}
      />
      {isMain ? <StepButton node={node} output={output} by={-STEP} /> : null}
      <Slider
        class="grow"
        label={translate(isMain ? 'volumeHere' : 'volumeOf', { name })}
        value={volume}
        max={volumeLimitOf(output)}
        text={formatPercent}
        dim={muted}
        wheel={isMain ? STEP : undefined}
        send={(wanted) => node.setOutputVolume(id, { volume: wanted })}
      />
      {isMain ? <StepButton node={node} output={output} by={STEP} /> : null}
    </div>
  );
}

/** Each press counts, also while another is in progress: the node adds them up. */
function StepButton({ node, output: { id }, by }: VolumeProps & { readonly by: number }) {
  const reporter = useContext(Reporting);
  const label = translate(by > 0 ? 'louder' : 'quieter');
  return (
    <IconButton
      class="step"
      icon={by > 0 ? 'plus' : 'minus'}
      label={label}
      onClick={() => {
        const title = translate('didNotWork', { what: label });
        node.setOutputVolume(id, { delta: by }).then(
          () => reporter.mended(title),
          (error: unknown) => reporter.failed(title, error),
        );
      }}
    />
  );
}

interface FootProps {
  readonly node: Tonearm;
  readonly state: Pick<NodeState, 'clients' | 'outputs'>;
  readonly player: PlayerRecord | undefined;
  readonly output: OutputRecord | undefined;
  /** Nothing can be sent now. */
  readonly isGone: boolean;
}

/** Stays in place while the page scrolls. */
export function Foot({ node, state: { clients, outputs }, player, output, isGone }: FootProps) {
  if (output === undefined) return null;
  const sounding = [...clients.values()].find(({ corked }) => !corked)?.name;
  return (
    <footer class="foot">
      <fieldset disabled={isGone}>
        <div class="row">
          {player === undefined ? null : <PlayButton node={node} player={player} label={labelFor(player)} />}
          <ForeignLine class="strong grow">
            {player === undefined ? (sounding ?? translate('nothingPlays')) : titleOf(player)}
          </ForeignLine>
          <MuteAll node={node} outputs={[...outputs.values()]} />
        </div>
        <OutputVolume node={node} output={output} isMain />
      </fieldset>
    </footer>
  );
}

function labelFor(player: PlayerRecord): (what: string) => string {
  return (what) => translate('ofPlayer', { what, name: titleOf(player) });
}

/** The player that plays, else the last one that did, else the first. */
export function useCurrentPlayer(players: readonly PlayerRecord[]): PlayerRecord | undefined {
  const last = useRef<string | undefined>(undefined);
  const kept = players.find(({ bus_name }) => bus_name === last.current);
  const current =
    kept !== undefined && isPlaying(kept) ? kept : (players.find(isPlaying) ?? kept ?? players[0]);
  last.current = current?.bus_name;
  return current;
}

interface MuteAllProps {
  readonly node: Tonearm;
  readonly outputs: readonly OutputRecord[];
}

/** Outputs that were muted before stay muted when the others are unmuted. */
function MuteAll({ node, outputs }: MuteAllProps) {
  const taken = useRef<readonly number[]>([]);
  const isSilent = outputs.every(({ muted }) => muted);
  const send = (wanted: boolean): Promise<unknown> => {
    const own = outputs.filter(({ id }) => taken.current.includes(id));
    const meant = wanted ? outputs.filter(({ muted }) => !muted) : own.length > 0 ? own : outputs;
    if (wanted) taken.current = meant.map(({ id }) => id);
    return Promise.all(meant.map(({ id }) => node.muteOutput(id, { muted: wanted })));
  };
  return <Toggle label={translate('muteAll')} icon="volume" iconOn="muted" isOn={isSilent} send={send} />;
}

interface CurrentStreamsProps {
  readonly node: Tonearm;
  readonly streams: readonly ClientRecord[];
  readonly outputs: readonly OutputRecord[];
}

/** The current streams in one sentence, for nodes without a media player. */
export function CurrentStreams({ node, streams, outputs }: CurrentStreamsProps) {
  const sounding = streams.filter(({ corked }) => !corked);
  const [first] = sounding;
  if (first === undefined) return <Empty>{translate('nothingPlays')}</Empty>;
  const output = mainOutput(outputs, streams);
  const where = output === undefined ? first.output : outputName(output);
  return (
    <div class="card sounding">
      <ForeignLine class="title">{first.name}</ForeignLine>
      <p class="quiet clip">
        <bdi>{first.app}</bdi>
        {where === undefined ? null : (
          <>
            {' · '}
            <bdi>{where}</bdi>
          </>
        )}
        {sounding.length > 1 ? ` · ${translate('andMore', { count: sounding.length - 1 })}` : ''}
      </p>
      {output?.muted || first.muted ? <p class="warn">{translate('muted')}</p> : null}
      {output === undefined ? null : <OutputVolume node={node} output={output} isMain />}
    </div>
  );
}
