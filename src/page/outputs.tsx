// The outputs: volume, mute, level, default, port, balance, and the profile of their card.

import { useState } from 'preact/hooks';
import type { CardRecord, NodeState, OutputRecord, Tonearm } from '../client/client.js';
import { Choice, useControl } from './controls.js';
import type { TextKey } from './english.js';
import { translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { Meter } from './meter.js';
import { hasNoSoundCard, outputName } from './output-choice.js';
import { Cards, Empty, ForeignLine, memoized, Unfold } from './parts.js';
import { Slider } from './slider.js';

interface OutputsProps {
  readonly node: Tonearm;
  readonly state: NodeState;
}

/** In the sound server's order, also when the default changes, so that a card does not move while it is used. */
export function Outputs({ node, state }: OutputsProps) {
  const sorted = [...state.outputs.values()].sort((a, b) => a.id - b.id);
  const cards = [...state.cards.values()];
  const silent = cards.filter(
    (card) => hasChoice(card) && sorted.every((output) => output.card !== card.name),
  );
  if (hasNoSoundCard(state)) return <NoCard detail={state.backends.get('audio')?.detail} />;
  if (sorted.length + silent.length === 0) return <Empty>{translate('noOutputs')}</Empty>;
  return (
    <Cards>
      {sorted.map((output) => {
        const card = cards.find(({ name }) => name === output.card);
        return <OutputCard key={output.id} node={node} output={output} card={card} />;
      })}
      {silent.map((card) => (
        <li key={card.name} class="card" data-card={card.name}>
          <ForeignLine class="strong">{card.description}</ForeignLine>
          <ProfileChoice node={node} card={card} />
        </li>
      ))}
    </Cards>
  );
}

function NoCard({ detail }: { readonly detail: string | undefined }) {
  return (
    <div class="card away" role="status">
      <p class="strong">{translate('noCard')}</p>
      {detail === undefined ? null : <p class="quiet wrap">{detail}</p>}
    </div>
  );
}

function hasChoice({ profiles }: CardRecord): boolean {
  return profiles.length > 1;
}

/** Without an output of its own the card has only this. */
function ProfileChoice({ node, card }: { readonly node: Tonearm; readonly card: CardRecord }) {
  const { id, description, active_profile = '', profiles } = card;
  return (
    <div class="field">
      <span aria-hidden="true">{translate('profile')}</span>
      <Choice
        label={translate('profileOf', { name: description })}
        value={active_profile}
        options={profiles.map((profile) => ({
          value: profile.name,
          text: optionText(profile),
        }))}
        send={(profile) => node.setCardProfile(id, { profile })}
      />
    </div>
  );
}

function optionText({
  available,
  description,
}: {
  readonly available: string;
  readonly description: string;
}): string {
  return available === 'no' ? translate('portAway', { name: description }) : description;
}

const STATES: Readonly<Record<OutputRecord['state'], TextKey>> = {
  running: 'stateRunning',
  idle: 'stateIdle',
  suspended: 'stateSuspended',
  unknown: 'stateUnknown',
};

interface OutputCardProps {
  readonly node: Tonearm;
  readonly output: OutputRecord;
  readonly card: CardRecord | undefined;
}

const OutputCard = memoized(({ node, output, card }: OutputCardProps) => {
  const name = outputName(output);
  const [isOpen, open] = useState(false);
  const words = translate(output.muted ? 'muted' : STATES[output.state]);
  return (
    <li class="card output" data-output={output.name} data-default={output.default}>
      <div class="row">
        <div class="grow">
          <ForeignLine class="strong">{name}</ForeignLine>
          <p class="quiet">{words}</p>
        </div>
        <DefaultButton node={node} output={output} name={name} />
        <Unfold name={name} isOpen={isOpen} open={open} />
      </div>
      <OutputVolume node={node} output={output} />
      <Meter output={output.id} name={name} />
      {isOpen ? <OutputMore node={node} output={output} card={card} name={name} /> : null}
    </li>
  );
});

interface OutputPartProps {
  readonly node: Tonearm;
  readonly output: OutputRecord;
  readonly name: string;
}

function DefaultButton({ node, output, name }: OutputPartProps) {
  const label = translate('makeDefaultOf', { name });
  const { shown, set } = useControl(output.default, () => node.setDefaultOutput(output.id), label);
  // One button for both states, so that it keeps the focus.
  return (
    <button
      type="button"
      class="button small default"
      aria-label={label}
      aria-pressed={shown}
      onClick={() => shown || set(true)}
    >
      {translate(shown ? 'defaultOutput' : 'makeDefault')}
    </button>
  );
}

function OutputMore({ node, output, card, name }: OutputPartProps & OutputCardProps) {
  const { id, ports = [], active_port, balance } = output;
  return (
    <>
      {ports.length === 0 || active_port === undefined ? null : (
        <div class="field">
          <span aria-hidden="true">{translate('port')}</span>
          <Choice
            label={translate('portOf', { name })}
            value={active_port}
            options={ports.map((port) => ({
              value: port.name,
              text: optionText(port),
            }))}
            send={(port) => node.setOutputPort(id, { port })}
          />
        </div>
      )}
      {card !== undefined && hasChoice(card) ? <ProfileChoice node={node} card={card} /> : null}
      <div class="field">
        <span aria-hidden="true">{translate('balance')}</span>
        <Slider
          class="grow middle"
          label={translate('balanceOf', { name })}
          value={balance}
          min={-1}
          step={0.05}
          text={balanceText}
          send={(wanted) => node.setOutputBalance(id, { balance: wanted })}
        />
      </div>
      <p class="quiet wrap">
        <bdi>{output.name}</bdi>
        {output.driver === undefined ? null : (
          <>
            {' · '}
            <bdi>{output.driver}</bdi>
          </>
        )}
      </p>
    </>
  );
}

function balanceText(balance: number): string {
  const value = Math.round(Math.abs(balance) * 100);
  if (value === 0) return translate('balanceCentre');
  return translate(balance < 0 ? 'balanceLeft' : 'balanceRight', { value });
}
