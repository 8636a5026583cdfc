// Draws switches, choices and buttons, and sends their requests. A control displays a new value at once, and
// returns to the node's value if the node refuses the new one.

import { useContext, useRef, useState } from 'preact/hooks';
import { advance, type Control, type ControlInput, isSettling, type Same, SETTLE_MS } from './control.js';
import { Button, type IconName } from './icons.js';
import { translate } from './language.js';
import { IfMayChange, useMayChange } from './may-change.js';
import { Reporting } from './notices.js';
import { useLater, useRedraw } from './parts.js';

/**
 * `known` is the node's value. `send` rejects with the problem if the node refuses a value. `failureTitle`
 * makes the title of the notice about the refusal.
 */
export function useControl<T>(
  known: T,
  send: (value: T) => Promise<unknown>,
  failureTitle: (desired: T) => string,
  same: Same<T> = Object.is,
) {
  const report = useContext(Reporting);
  const control = useRef<Control<T>>({ known });
  /** The arguments of the newest drawing. A `handle` that an earlier drawing has made uses them, too. */
  const newestArguments = useRef({ send, failureTitle, same });
  newestArguments.current = { send, failureTitle, same };
  const redraw = useRedraw();
  const handle = (input: ControlInput<T>): void => {
    const newest = newestArguments.current;
    const before = control.current;
    control.current = advance(before, input, newest.same);
    const { sent } = control.current;
    if (sent !== undefined && sent !== before.sent)
      report(newest.failureTitle(sent), newest.send(sent)).then((isDone) =>
        handle({ kind: isDone ? 'accepted' : 'refused' }),
      );
    redraw();
  };
  // This does not call `handle`, because `handle` would draw the component once more.
  if (!Object.is(control.current.known, known))
    control.current = advance(control.current, { kind: 'known', value: known }, same);
  const { desired } = control.current;
  const isNowSettling = isSettling(control.current);
  const settleMs = isNowSettling ? SETTLE_MS : undefined;
  useLater(settleMs, () => handle({ kind: 'settled' }), [isNowSettling, desired]);
  return {
    displayed: desired ?? known,
    /** The newest value, even if it is not drawn yet; undefined during a request. */
    settledValue: (): T | undefined => {
      const latest = control.current;
      return latest.sent === undefined ? (latest.desired ?? latest.known) : undefined;
    },
    set: (value: T) => handle({ kind: 'set', value }),
    grab: () => handle({ kind: 'grab' }),
    release: () => handle({ kind: 'release' }),
  };
}

/** Returns a function that makes the title of a failure: the control with this `label` could not be set. */
export function couldNotSet(label: string): () => string {
  return () => translate('couldNotSet', { name: label });
}

/** Tracks an action that sets no value. Returns whether it is under way, and a function that begins it. */
export function useAction(send: () => Promise<unknown>, failureTitle: string) {
  const report = useContext(Reporting);
  const [isUnderWay, setUnderWay] = useState(false);
  const begin = (): void => {
    if (isUnderWay) return;
    setUnderWay(true);
    void report(failureTitle, send()).then(() => setUnderWay(false));
  };
  return [isUnderWay, begin] as const;
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly send: (isOn: boolean) => Promise<unknown>;
  readonly children?: string;
}

interface ToggleProps extends Omit<SwitchProps, 'children'> {
  readonly icon: IconName;
  readonly iconOn?: IconName;
  readonly disabled?: boolean;
}

/** A toggle is not drawn if the node may not be changed. A `Switch` still shows the node's value then. */
export function Toggle({ icon, iconOn = icon, isOn, send, ...button }: ToggleProps) {
  const { displayed, set } = useControl(isOn, send, couldNotSet(button.label));
  return (
    <IfMayChange>
      <Button
        {...button}
        icon={displayed ? iconOn : icon}
        isPressed={displayed}
        onClick={() => set(!displayed)}
      />
    </IfMayChange>
  );
}

export function Switch({ label, isOn, send, children }: SwitchProps) {
  const { displayed, set } = useControl(isOn, send, couldNotSet(label));
  const mayChange = useMayChange();
  return (
    <button
      type="button"
      class="switch"
      disabled={!mayChange}
      role="switch"
      aria-checked={displayed}
      aria-label={label}
      onClick={() => set(!displayed)}
    >
      <span class="switch-track" aria-hidden="true" />
      {children === undefined ? null : <span>{children}</span>}
    </button>
  );
}

export interface Option {
  readonly value: string;
  readonly text: string;
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly send: (value: string) => Promise<unknown>;
}

export function Choice({ label, value, options, send }: ChoiceProps) {
  const { displayed, set } = useControl(value, send, couldNotSet(label));
  // The node's value may be none of the options.
  const chosen = options.find((option) => option.value === displayed);
  if (!useMayChange()) return <bdi class="clip">{chosen?.text ?? displayed}</bdi>;
  return (
    <select
      class="choice"
      dir="auto"
      aria-label={label}
      value={displayed}
      onChange={({ currentTarget }) => set(currentTarget.value)}
    >
      {chosen === undefined ? <option value={displayed}>{displayed}</option> : null}
      {options.map(({ value: optionValue, text }) => (
        <option key={optionValue} value={optionValue}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface ActionButtonProps extends Omit<Parameters<typeof Button>[0], 'onClick'> {
  readonly send: () => Promise<unknown>;
}

/** A notice about a failure names the button by its label, or by its text if it has no label. */
export function ActionButton({ send, ...button }: ActionButtonProps) {
  const what = button.label ?? String(button.children);
  const [isBusy, begin] = useAction(send, translate('didNotWork', { what }));
  return (
    <IfMayChange>
      <Button {...button} isBusy={isBusy} onClick={begin} />
    </IfMayChange>
  );
}
