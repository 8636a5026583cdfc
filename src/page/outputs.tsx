// The outputs: volume, mute, level, default, port, balance, and the profile of their card.

import { useEffect, useRef } from 'preact/hooks';
import type { CardRecord, NodeState, OutputRecord } from '../client/client.js';
import { Choice, couldNotSet, useControl } from './controls.js';
import { Button } from './icons.js';
import { formatPercent, translate } from './language.js';
import { hasNoSoundCard, OutputVolume } from './main-volume.js';
import { Changing } from './may-change.js';
import { useLive, useNode } from './node.js';
import { Cards, Empty, Field, ForeignLine, Missing, memoized, useUnfold } from './parts.js';
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
    <Cards>
      {sorted.map((output) => (
        <OutputCard key={output.id} output={output} card={cards.find(({ name }) => name === output.card)} />
      ))}
      {silent.map((card) => (
        <li key={card.name} class="card" data-card={card.name}>
          <ForeignLine class="strong">{card.description}</ForeignLine>
          <ProfileChoice card={card} />
        </li>
      ))}
    </Cards>
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

const OutputCard = memoized(({ output, card }: OutputProps) => {
  const { label: name } = output;
  const { isOpen, unfold } = useUnfold(name);
  return (
    <li class="card output" data-output={output.name} data-default={output.default}>
      <div class="row">
        <div class="grow">
          <ForeignLine class="strong">{name}</ForeignLine>
          <p class="quiet">{translate(output.muted ? 'muted' : STATES[output.state])}</p>
        </div>
        <DefaultButton output={output} />
        {unfold}
      </div>
      <OutputVolume output={output} />
      <Meter output={output.id} name={name} />
      {isOpen ? <OutputMore output={output} card={card} /> : null}
    </li>
  );
});

function DefaultButton({ output }: { readonly output: OutputRecord }) {
  const node = useNode();
  const label = translate('makeDefaultOf', { name: output.label });
  const { displayed, set } = useControl(
    output.default,
    () => node.setDefaultOutput(output.id, { move: true }),
    couldNotSet(label),
  );
  // One button for both states, so that it keeps the focus.
  return (
    <Changing still={displayed ? <span class="quiet">{translate('defaultOutput')}</span> : null}>
      <Button class="default" label={label} isPressed={displayed} onClick={() => displayed || set(true)}>
        {translate(displayed ? 'defaultOutput' : 'makeDefault')}
      </Button>
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
        <bdi>{output.name}</bdi>
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

/** The smallest step of a peak, 0.001 (docs/events.md, "Levels"). The scale is in decibels, like hearing. */
const FLOOR_DB = -60;

/** The bar's length, 0..1, for a peak of 0..1. */
function barOf(peak: number): number {
  return peak > 0 ? Math.min(1, Math.max(0, 1 - (20 * Math.log10(peak)) / FLOOR_DB)) : 0;
}

/** The bars are changed directly, ten times a second, without redrawing anything else. */
function Meter({ output, name }: { readonly output: number; readonly name: string }) {
  const live = useLive();
  const meter = useRef<HTMLMeterElement>(null);
  const bars = useRef<HTMLDivElement>(null);
  useEffect(() => {
    return live.subscribe('levels', (levels) => {
      const peaks = levels.get(output) ?? [];
      if (meter.current !== null) meter.current.value = Math.max(0, ...peaks);
      // Two bars are enough, because rooms are heard in stereo.
      for (const channel of [0, 1]) {
        const length = barOf(peaks[channel] ?? peaks[0] ?? 0);
        bars.current?.style.setProperty(`--level${channel}`, length.toFixed(3));
      }
    });
  }, [live, output]);
  return (
    <div class="levels">
      <meter ref={meter} class="unseen" aria-label={translate('levelOf', { name })} />
      <div ref={bars} class="bars" aria-hidden="true">
        <span />
        <span />
      </div>
    </div>
  );
}
