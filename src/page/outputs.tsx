// The outputs, each a row: its kind, its volume with its level, and the default; behind a button its socket,
// its balance, and the profile of its card.

import type { CardRecord, NodeState, OutputRecord } from '../client/client.js';
import { Choice, useControl } from './controls.js';
import { Icon } from './icons.js';
import { formatPercent, translate } from './language.js';
import { hasNoSoundCard, OutputMute, OutputSlider } from './main-volume.js';
import { Changing } from './may-change.js';
import { LevelOf, Meter } from './meter.js';
import { useNode } from './node.js';
import { iconOf } from './output-form.js';
import { Empty, Field, ForeignLine, Missing, memoized, Rows, useUnfold } from './parts.js';
import { Slider } from './slider.js';
import type { TextKey } from './texts/english.js';

/**
 * In the sound server's order, also when the default changes, so that a card does not move while it is used.
 */
export function Outputs(state: NodeState) {
  const sorted = [...state.outputs.values()].sort((a, b) => a.id - b.id);
  const cards = [...state.cards.values()];
  const silent = cards.filter(
    ({ name, profiles }) => profiles.length > 1 && sorted.every(({ card }) => card !== name),
  );
  if (hasNoSoundCard(state))
    return <Missing detail={state.backends.get('audio')?.detail}>{translate('noCard')}</Missing>;
  if (sorted.length + silent.length === 0) return <Empty>{translate('noOutputs')}</Empty>;
  return (
    <Rows>
      {sorted.map((output) => (
        <OutputRow key={output.id} output={output} card={cards.find(({ name }) => name === output.card)} />
      ))}
      {silent.map((card) => (
        <li key={card.name} class="silent" data-card={card.name}>
          <ForeignLine class="strong">{card.description}</ForeignLine>
          <ProfileChoice card={card} />
        </li>
      ))}
    </Rows>
  );
}

/** Without an output of its own the card has only this. */
function ProfileChoice({ card }: { readonly card: CardRecord }) {
  const node = useNode();
  const { id, description, active_profile = '', profiles } = card;
  const send = (profile: string) => node.setCardProfile(id, { profile });
  return <PlugChoice what="profile" name={description} value={active_profile} all={profiles} send={send} />;
}

interface PlugChoiceProps {
  readonly what: 'port' | 'profile';
  /** The name of the card or output. */
  readonly name: string;
  readonly value: string;
  readonly all: CardRecord['profiles'] | NonNullable<OutputRecord['ports']>;
  readonly send: (value: string) => Promise<unknown>;
}

function PlugChoice({ what, name, value, all, send }: PlugChoiceProps) {
  const options = all.map(({ name, description, available }) => ({
    value: name,
    text: available === 'no' ? translate('portAway', { name: description }) : description,
  }));
  return (
    <Field name={translate(what)}>
      <Choice label={translate(`${what}Of`, { name })} value={value} options={options} send={send} />
    </Field>
  );
}

const STATES: Readonly<Record<OutputRecord['state'], TextKey>> = {
  running: 'stateRunning',
  idle: 'stateIdle',
  suspended: 'stateSuspended',
  unknown: 'stateUnknown',
};

type OutputProps = Readonly<{ output: OutputRecord; card: CardRecord | undefined }>;

const OutputRow = memoized(({ output, card }: OutputProps) => {
  const { id, label: name } = output;
  const { isOpen, unfold } = useUnfold(name);
  return (
    <li class="output" data-output={output.name} data-default={output.default}>
      <div class="output-row">
        <OutputMute output={output} icon={iconOf(output)} />
        <div class="output-main">
          <ForeignLine class="strong">{name}</ForeignLine>
          <OutputSlider output={output}>
            <Meter output={id} />
          </OutputSlider>
        </div>
        <UseButton output={output} />
        {unfold}
      </div>
      <LevelOf output={id} name={name} />
      {isOpen ? <OutputMore output={output} card={card} /> : null}
    </li>
  );
});

function UseButton({ output }: { readonly output: OutputRecord }) {
  const node = useNode();
  const label = translate('useOf', { name: output.label });
  const { displayed, set } = useControl(
    output.default,
    () => node.setDefaultOutput(output.id, { move: true }),
    () => translate('didNotWork', { what: label }),
  );
  // One button for both states, so that it keeps the focus.
  return (
    <Changing still={displayed ? <Icon name="tick" /> : null}>
      <button
        type="button"
        class="icon-button use"
        aria-label={label}
        title={label}
        aria-pressed={displayed}
        onClick={() => displayed || set(true)}
      />
    </Changing>
  );
}

function OutputMore({ output, card }: OutputProps) {
  const node = useNode();
  const { id, label: name, ports = [], active_port, balance, driver } = output;
  return (
    <>
      {ports.length === 0 || active_port === undefined ? null : (
        <PlugChoice
          what="port"
          name={name}
          value={active_port}
          all={ports}
          send={(port) => node.setOutputPort(id, { port })}
        />
      )}
      {card !== undefined && card.profiles.length > 1 ? <ProfileChoice card={card} /> : null}
      <Field name={translate('balance')}>
        <Slider
          class="grow middle"
          label={translate('balanceOf', { name })}
          value={balance}
          min={-1}
          step={0.05}
          text={balanceText}
          send={(desired) => node.setOutputBalance(id, { balance: desired })}
        />
      </Field>
      <p class="quiet wrap">
        {translate(output.muted ? 'muted' : STATES[output.state])} · <bdi>{output.name}</bdi>
        {driver === undefined ? '' : ' · '}
        <bdi>{driver}</bdi>
      </p>
    </>
  );
}

function balanceText(balance: number): string {
  if (Math.round(balance * 100) === 0) return translate('balanceCentre');
  const value = formatPercent(Math.abs(balance));
  return translate(balance < 0 ? 'balanceLeft' : 'balanceRight', { value });
}
