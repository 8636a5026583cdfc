// Draws the sheet of all outputs. A press on an output makes it the default, and moves all streams to it.

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
  /** The output that plays now. */
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
        {sorted.map((place) => (
          <li key={place.id} class="place">
            <Button
              class="place-name"
              label={translate('playOnOf', { name: place.label })}
              isPressed={place.id === displayed}
              onClick={() => {
                if (place.id !== displayed) set(place.id);
              }}
            >
              <Icon name={iconOf(place)} />
              <ForeignLine class="grow strong">{place.label}</ForeignLine>
              {place.id === displayed ? <Icon name="tick" /> : null}
            </Button>
            <OutputVolume output={place} />
          </li>
        ))}
      </ul>
    </Sheet>
  );
}
