// Draws the rarely used settings of an output: its port, the profile of its card, and its balance. An input
// has a port and a balance, too.

import type { CardRecord, InputRecord, OutputRecord } from '../client/client.js';
import { Choice } from './controls.js';
import { formatPercent, translate } from './language.js';
import { useNode } from './node.js';
import { Field } from './parts.js';
import { Slider } from './slider.js';
import type { TextKey } from './texts/english.js';

/** A card without an output has only this setting. */
export function ProfileChoice({ card }: { readonly card: CardRecord }) {
  const node = useNode();
  const { id, description, active_profile = '', profiles } = card;
  const send = (profile: string) => node.setCardProfile(id, { profile });
  return (
    <SettingChoice what="profile" name={description} value={active_profile} choices={profiles} send={send} />
  );
}

interface SettingProps {
  readonly what: 'port' | 'profile';
  /** The name of the card, output or input. */
  readonly name: string;
  readonly value: string;
  readonly choices: CardRecord['profiles'] | NonNullable<OutputRecord['ports']>;
  readonly send: (value: string) => Promise<unknown>;
}

function SettingChoice({ what, name, value, choices, send }: SettingProps) {
  const options = choices.map((choice) => {
    const { description, available } = choice;
    // The text `portAway` also fits a profile that is not available.
    const text = available === 'no' ? translate('portAway', { name: description }) : description;
    return { value: choice.name, text };
  });
  return (
    <Field name={translate(what)}>
      <Choice label={translate(`${what}Of`, { name })} value={value} options={options} send={send} />
    </Field>
  );
}

const STATE_TEXTS: Readonly<Record<OutputRecord['state'], TextKey>> = {
  running: 'stateRunning',
  idle: 'stateIdle',
  suspended: 'stateSuspended',
  unknown: 'stateUnknown',
};

type OutputMoreProps = Readonly<{ output: OutputRecord; card: CardRecord | undefined }>;

export function OutputMore({ output, card }: OutputMoreProps) {
  const node = useNode();
  const { id, label: name } = output;
  return (
    <>
      <PortChoice device={output} name={name} send={(port) => node.setOutputPort(id, { port })} />
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

export function PortChoice({ device, name, send }: DeviceProps<string>) {
  const { ports = [], active_port } = device;
  if (ports.length === 0 || active_port === undefined) return null;
  return <SettingChoice what="port" name={name} value={active_port} choices={ports} send={send} />;
}

/** Also draws a line with the device's state, its name in the sound server, and its driver. */
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
