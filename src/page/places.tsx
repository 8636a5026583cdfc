// The sheet of all outputs: a touch of one moves there what plays, and makes it the default.

import type { NodeState, OutputRecord } from '../client/client.js';
import { useControl } from './controls.js';
import { Button, Icon } from './icons.js';
import { translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { useNode } from './node.js';
import { iconOf } from './output-form.js';
import { ForeignLine } from './parts.js';
import { Sheet } from './sheet.js';

interface PlacesProps extends Pick<NodeState, 'outputs'> {
  /** Where it plays now. */
  readonly output: OutputRecord;
  readonly onClose: () => void;
}

export function Places({ output, outputs, onClose }: PlacesProps) {
  const node = useNode();
  const send = (id: number): Promise<unknown> => node.setDefaultOutput(id, { move: true });
  const nameOf = (id: number): string => outputs.get(id)?.label ?? '';
  const { displayed, set } = useControl(output.id, send, (id) =>
    translate('didNotWork', { what: translate('playOnOf', { name: nameOf(id) }) }),
  );
  const sorted = [...outputs.values()].sort((a, b) => a.id - b.id);
  return (
    <Sheet title={translate('playOn')} onClose={onClose}>
      <ul class="places">
        {sorted.map((each) => (
          <li key={each.id} class="place">
            <Button
              class="place-name"
              label={translate('playOnOf', { name: each.label })}
              isPressed={each.id === displayed}
              onClick={() => each.id === displayed || set(each.id)}
            >
              <Icon name={iconOf(each)} />
              <ForeignLine class="grow strong">{each.label}</ForeignLine>
              {each.id === displayed ? <Icon name="tick" /> : null}
            </Button>
            <OutputVolume output={each} />
          </li>
        ))}
      </ul>
    </Sheet>
  );
}
