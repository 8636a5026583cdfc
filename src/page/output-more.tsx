// Draws the rarely used settings of an output: its socket, the profile of its card, and its balance. An
// input has a socket and a balance, too.

import type { CardRecord, InputRecord, OutputRecord } from '../client/client.js';
import { Choice } from './controls.js';
import { formatPercent, translate } from './language.js';
import { useNode } from './node.js';
import { Field } from './parts.js';
import { Slider } from './slider.js';
import type { TextKey } from './texts/english.js';

/** Draws the choice of a card's profile. For a card without an output only this is drawn. */
export function ProfileChoice({ card }: { readonly card: CardRecord }) {
  const node = useNode();
  const { id, description, active_profile = '', profiles } = card;
  const send = (profile: string) => node.setCardProfile(id, { profile });
  return <PlugChoice what="profile" name={description} value={active_profile} all={profiles} send={send} />;
}

interface PlugChoiceProps {
  readonly what: 'port' | 'profile';
  /** The name of the card, output or input. */
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

/** The text for each state of an output or input. */
const STATE_TEXTS: Readonly<Record<OutputRecord['state'], TextKey>> = {
  running: 'stateRunning',
  idle: 'stateIdle',
  suspended: 'stateSuspended',
  unknown: 'stateUnknown',
};

type OutputProps = Readonly<{ output: OutputRecord; card: CardRecord | undefined }>;

export function OutputMore({ output, card }: OutputProps) {
  const node = useNode();
  const { id, label: name } = output;
  return (
    <>
      <SocketChoice device={output} name={name} send={(port) => node.setOutputPort(id, { port })} />
      {card !== undefined && card.profiles.length > 1 ? <ProfileChoice card={card} /> : null}
      <Balance device={output} name={name} send={(balance) => node.setOutputBalance(id, { balance })} />
    </>
  );
}

interface DeviceProps<T> {
  readonly device: OutputRecord | InputRecord;
  /** The name on the page. */
  readonly name: string;
  readonly send: (value: T) => Promise<unknown>;
}

/** Drawn only if the device has sockets to choose from. */
export function SocketChoice({ device, name, send }: DeviceProps<string>) {
  const { ports = [], active_port } = device;
  if (ports.length === 0 || active_port === undefined) return null;
  return <PlugChoice what="port" name={name} value={active_port} all={ports} send={send} />;
}

/** Draws the balance, and below it a line with the device's state, name in the sound server, and driver. */
export function Balance({ device, name, send }: DeviceProps<number>) {
  const { muted, state, driver, balance } = device;
  return (
    <>
      <Field name={translate('balance')}>
        <Slider
          class="grow middle"
          label={translate('balanceOf', { name })}
          value={balance}
          min={-1}
          step={0.05}
          text={balanceText}
          send={send}
        />
      </Field>
      <p class="quiet wrap">
        {translate(muted ? 'muted' : STATE_TEXTS[state])} · <bdi>{device.name}</bdi>
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
