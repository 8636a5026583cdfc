// Draws the sheet of all outputs. A press on an output makes it the default, and moves all streams to it.

import type { NodeState, OutputRecord } from '../client/client.js';
import { useControl } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { useNode } from './node.js';
import { outputIcon } from './output-icon.js';
import { ForeignText } from './parts.js';
import { Sheet } from './sheet.js';

interface OutputSheetProps extends Pick<NodeState, 'outputs'> {
  /** The page's main output (`mainOutput` in main-volume.tsx). */
  readonly output: OutputRecord;
  readonly onClose: () => void;
}

export function OutputSheet({ onClose, ...listProps }: OutputSheetProps) {
  return (
    <Sheet title={translate('playOn')} onClose={onClose}>
      <OutputList {...listProps} />
    </Sheet>
  );
}

/** This is a component of its own, because only components within `Sheet` report failures in the sheet. */
function OutputList({ output: current, outputs }: Omit<OutputSheetProps, 'onClose'>) {
  const node = useNode();
  const playOn = (id: number): Promise<unknown> => node.setDefaultOutput(id, { move: true });
  const failureTitle = (id: number): string => {
    const what = translate('playOnOf', { name: outputs.get(id)?.label ?? '' });
    return translate('didNotWork', { what });
  };
  const { displayed: pressedId, set } = useControl(current.id, playOn, failureTitle);
  const sorted = [...outputs.values()].sort((a, b) => a.id - b.id);
  return (
    <ul class="places">
      {sorted.map((output) => (
        <li key={output.id} class="place">
          <Button
            class="place-name"
            label={translate('playOnOf', { name: output.label })}
            isPressed={output.id === pressedId}
            onClick={() => {
              if (output.id !== pressedId) set(output.id);
            }}
          >
            <Icon name={outputIcon(output)} />
            <ForeignText class="grow strong">{output.label}</ForeignText>
            {output.id === pressedId ? <Icon name="tick" /> : null}
          </Button>
          <OutputVolume output={output} />
        </li>
      ))}
    </ul>
  );
}
