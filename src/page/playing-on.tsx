// Where it plays: a button that names the output, and opens a sheet of all. A touch of one moves there what
// plays, and makes it the default.

import { useState } from 'preact/hooks';
import type { NodeState, OutputRecord } from '../client/client.js';
import { useControl } from './controls.js';
import { Button, Icon } from './icons.js';
import { isolated, translate } from './language.js';
import { OutputVolume } from './main-volume.js';
import { useMayChange } from './may-change.js';
import { useNode } from './node.js';
import { iconOf } from './output-form.js';
import { ForeignLine } from './parts.js';
import { Sheet } from './sheet.js';

interface PlayingOnProps extends Pick<NodeState, 'outputs'> {
  readonly output: OutputRecord;
}

export function PlayingOn({ output, outputs }: PlayingOnProps) {
  const [isOpen, setOpen] = useState(false);
  const text = translate('playingOn', { name: isolated(output.label) });
  return (
    <>
      <Button class="playing-on" isOpen={isOpen} disabled={!useMayChange()} onClick={() => setOpen(true)}>
        <Icon name={iconOf(output)} />
        <span class="clip">{text}</span>
        <Icon name="more" />
      </Button>
      {isOpen ? (
        <Sheet title={translate('playOn')} onClose={() => setOpen(false)}>
          <Places output={output} outputs={outputs} />
        </Sheet>
      ) : null}
    </>
  );
}

function Places({ output, outputs }: PlayingOnProps) {
  const node = useNode();
  const send = (id: number): Promise<unknown> => node.setDefaultOutput(id, { move: true });
  const nameOf = (id: number): string => outputs.get(id)?.label ?? '';
  const { displayed, set } = useControl(output.id, send, (id) =>
    translate('didNotWork', { what: translate('playOnOf', { name: nameOf(id) }) }),
  );
  const sorted = [...outputs.values()].sort((a, b) => a.id - b.id);
  return (
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
  );
}
