// Switches, choices and buttons. Each shows a new value at once, and the old value and the problem's text if the node
// refuses it.

import type { ComponentChildren } from 'preact';
import { useCallback, useContext, useRef, useState } from 'preact/hooks';
import { advance, type Control, type ControlInput, controlOf, SETTLE_MS, shownValue } from './control.js';
import { Icon, IconButton, type IconName } from './icons.js';
import { translate } from './language.js';
import { Reporting } from './notices.js';

interface ControlHandle<T> {
  readonly shown: T;
  /** The shown value is not the node's value yet. */
  readonly isOnItsWay: boolean;
  readonly set: (value: T) => void;
  readonly hold: () => void;
  readonly release: () => void;
}

/**
 * `known` is the node's value; `send` requests another one, and rejects with the problem if the node refuses it; `label` is the
 * control's name.
 */
export function useControl<T>(
  known: T,
  send: (value: T) => Promise<unknown>,
  label: string,
  same: (a: T, b: T) => boolean = Object.is,
): ControlHandle<T> {
  const reporter = useContext(Reporting);
  const title = useRef('');
  title.current = translate('couldNotSet', { name: label });
  const held = useRef<Control<T>>(controlOf(known));
  const sender = useRef(send);
  sender.current = send;
  const [, draw] = useState(0);
  const take = useCallback((input: ControlInput<T>): void => {
    const next = advance(held.current, input, same);
    held.current = next.control;
    const { settle } = next;
    if (settle !== undefined) setTimeout(() => take({ kind: 'settled', turn: settle }), SETTLE_MS);
    if (next.send !== undefined) {
      sender.current(next.send.value).then(
        () => {
          reporter.mended(title.current);
          take({ kind: 'accepted' });
        },
        (error: unknown) => {
          reporter.failed(title.current, error);
          take({ kind: 'refused' });
        },
      );
    }
    draw((times) => times + 1);
  }, []);
  if (!Object.is(held.current.known, known)) {
    held.current = advance(held.current, { kind: 'known', value: known }, same).control;
  }
  return {
    shown: shownValue(held.current),
    isOnItsWay: held.current.wanted !== undefined,
    set: (value) => take({ kind: 'set', value }),
    hold: () => take({ kind: 'hold' }),
    release: () => take({ kind: 'release' }),
  };
}

/** An action without a value: its progress, and a function to start it. `failed` is the title of its failure. */
export function useAction(
  send: () => Promise<unknown>,
  failed: string,
): readonly [isUnderWay: boolean, begin: () => void] {
  const reporter = useContext(Reporting);
  const [isUnderWay, setUnderWay] = useState(false);
  const begin = (): void => {
    if (isUnderWay) return;
    setUnderWay(true);
    send()
      .then(
        () => reporter.mended(failed),
        (error: unknown) => reporter.failed(failed, error),
      )
      .finally(() => setUnderWay(false));
  };
  return [isUnderWay, begin];
}

interface ToggleProps {
  readonly label: string;
  readonly icon: IconName;
  readonly iconOn?: IconName;
  readonly isOn: boolean;
  readonly send: (isOn: boolean) => Promise<unknown>;
  readonly disabled?: boolean;
}

export function Toggle({ label, icon, iconOn = icon, isOn, send, disabled = false }: ToggleProps) {
  const { shown, set } = useControl(isOn, send, label);
  const look = { label, icon: shown ? iconOn : icon, isPressed: shown, disabled };
  return <IconButton {...look} onClick={() => set(!shown)} />;
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly send: (isOn: boolean) => Promise<unknown>;
  readonly disabled?: boolean;
  readonly children?: ComponentChildren;
}

export function Switch({ label, isOn, send, disabled = false, children }: SwitchProps) {
  const { shown, set } = useControl(isOn, send, label);
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={shown}
      aria-label={label}
      disabled={disabled}
      onClick={() => set(!shown)}
    >
      <span class="switch-track" aria-hidden="true" />
      {children === undefined ? null : <span>{children}</span>}
    </button>
  );
}

export interface Option<T extends string = string> {
  readonly value: T;
  readonly text: string;
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly Option<T>[];
  readonly send: (value: T) => Promise<unknown>;
  readonly disabled?: boolean;
}

export function Choice<T extends string>({ value, send, ...others }: ChoiceProps<T>) {
  return <ChoiceOf {...others} control={useControl(value, send, others.label)} />;
}

interface ChoiceOfProps<T extends string> extends Omit<ChoiceProps<T>, 'value' | 'send'> {
  readonly control: Pick<ControlHandle<T>, 'shown' | 'set'>;
}

/** A choice whose value other elements set too. */
export function ChoiceOf<T extends string>({ label, options, control, disabled = false }: ChoiceOfProps<T>) {
  const { shown, set } = control;
  const isListed = options.some((option) => option.value === shown);
  return (
    <select
      class="choice"
      dir="auto"
      aria-label={label}
      value={shown}
      disabled={disabled}
      onChange={({ currentTarget }) => {
        const chosen = options.find((option) => option.value === currentTarget.value);
        if (chosen !== undefined) set(chosen.value);
      }}
    >
      {isListed ? null : <option value={shown}>{shown}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  );
}

interface ButtonProps {
  readonly send: () => Promise<unknown>;
  readonly label?: string;
  /** The title of a failure; by default made from the label. */
  readonly failed?: string;
  readonly icon?: IconName;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly children?: ComponentChildren;
}

/** Runs one action; a button with only an icon needs a label. */
export function ActionButton({
  send,
  label,
  failed,
  icon,
  class: of = 'button',
  disabled,
  children,
}: ButtonProps) {
  const [isUnderWay, begin] = useAction(send, failed ?? translate('didNotWork', { what: label ?? '' }));
  return (
    <button
      type="button"
      class={of}
      {...(label === undefined ? {} : { 'aria-label': label, title: label })}
      aria-busy={isUnderWay}
      disabled={disabled ?? false}
      onClick={begin}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
