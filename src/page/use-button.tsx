// The radio button of what is used by default: an output, or an input.

import { useControl } from './controls.js';
import { Icon } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';

interface UseProps {
  /** Names what the button is for. */
  readonly name: string;
  readonly isUsed: boolean;
  readonly send: () => Promise<unknown>;
}

export function UseButton({ name, isUsed, send }: UseProps) {
  const label = translate('useOf', { name });
  const { displayed, set } = useControl(isUsed, send, () => translate('didNotWork', { what: label }));
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
