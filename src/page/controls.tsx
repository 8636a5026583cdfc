// Switches, choices and buttons. Each shows a new value at once, and the old value and the problem's text if
// the node refuses it.

import { useContext, useRef, useState } from 'preact/hooks';
import { advance, type Control, isSettling, type Same, SETTLE_MS } from './control.js';
import { Button, type IconName } from './icons.js';
import { translate } from './language.js';
import { Changing, useMayChange } from './may-change.js';
import { Reporting } from './notices.js';
import { useLater } from './parts.js';

/**
 * `known` is the node's value; `send` rejects with the problem if the node refuses one; `failed` is the title
 * of that failure; `same` is true for values that look alike.
 */
export function useControl<T>(
  known: T,
  send: (value: T) => Promise<unknown>,
  failed: (desired: T) => string,
  same: Same<T> = Object.is,
) {
  const report = useContext(Reporting);
  const control = useRef<Control<T>>({ known });
  const latest = useRef({ send, failed, same });
  latest.current = { send, failed, same };
  const [, draw] = useState(0);
  const take = (input: Parameters<typeof advance<T>>[1]): void => {
    const { sent } = control.current;
    const { send, failed, same } = latest.current;
    control.current = advance(control.current, input, same);
    const { sent: next } = control.current;
    if (next !== undefined && next !== sent)
      report(failed(next), send(next)).then((isDone) => take({ kind: isDone ? 'accepted' : 'refused' }));
    draw((times) => times + 1);
  };
  if (!Object.is(control.current.known, known))
    control.current = advance(control.current, { kind: 'known', value: known }, same);
  const { desired } = control.current;
  const waits = isSettling(control.current);
  useLater(waits ? SETTLE_MS : undefined, () => take({ kind: 'settled' }), [waits, desired]);
  return {
    displayed: desired ?? known,
    set: (value: T) => take({ kind: 'set', value }),
    grab: () => take({ kind: 'grab' }),
    release: () => take({ kind: 'release' }),
  };
}

/** The title of a failure to change the value of the control with this `label`. */
export function couldNotSet(label: string): () => string {
  return () => translate('couldNotSet', { name: label });
}

/**
 * An action without a value: its progress, and a function to start it. `failed` is the title of its failure.
 */
export function useAction(send: () => Promise<unknown>, failed: string) {
  const report = useContext(Reporting);
  const [isUnderWay, setUnderWay] = useState(false);
  const begin = (): void => {
    if (isUnderWay) return;
    setUnderWay(true);
    void report(failed, send()).then(() => setUnderWay(false));
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

export function Toggle({ icon, iconOn = icon, isOn, send, ...button }: ToggleProps) {
  const { displayed, set } = useControl(isOn, send, couldNotSet(button.label));
  return (
    <Changing>
      <Button
        {...button}
        icon={displayed ? iconOn : icon}
        isPressed={displayed}
        onClick={() => set(!displayed)}
      />
    </Changing>
  );
}

export function Switch({ label, isOn, send, children }: SwitchProps) {
  const { displayed, set } = useControl(isOn, send, couldNotSet(label));
  const isStill = !useMayChange();
  return (
    <button
      type="button"
      class="switch"
      disabled={isStill}
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
  const isListed = options.some(({ value }) => value === displayed);
  if (!useMayChange())
    return <bdi class="clip">{options.find(({ value }) => value === displayed)?.text ?? displayed}</bdi>;
  return (
    <select
      class="choice"
      dir="auto"
      aria-label={label}
      value={displayed}
      onChange={({ currentTarget }) => set(currentTarget.value)}
    >
      {isListed ? null : <option value={displayed}>{displayed}</option>}
      {options.map(({ value, text }) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface ActionButtonProps extends Omit<Parameters<typeof Button>[0], 'onClick'> {
  readonly send: () => Promise<unknown>;
}

/** Its failure is named after its label, or after its text. */
export function ActionButton({ send, ...button }: ActionButtonProps) {
  const what = button.label ?? String(button.children);
  const [isBusy, begin] = useAction(send, translate('didNotWork', { what }));
  return (
    <Changing>
      <Button {...button} isBusy={isBusy} onClick={begin} />
    </Changing>
  );
}
