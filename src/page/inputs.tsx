// Draws the inputs, each as a card. A press on the card's unfold button shows the port and the balance.

import type { InputRecord, NodeState } from '../client/client.js';
import { Choice, Toggle } from './controls.js';
import { translate } from './language.js';
import { useNode } from './node.js';
import { Balance, PortChoice } from './output-more.js';
import { Cards, Field, ForeignText, memoized, useUnfold } from './parts.js';
import { UseButton } from './use-button.js';
import { VolumeSlider } from './volume-slider.js';

export function Inputs({ inputs, outputs }: NodeState) {
  const sorted = [...inputs.values()].sort((a, b) => a.id - b.id);
  return (
    <Cards>
      {sorted.map((input) => (
        <InputCard key={input.id} input={input} outputs={outputs} />
      ))}
    </Cards>
  );
}

type InputProps = Readonly<{ input: InputRecord; outputs: NodeState['outputs'] }>;

const InputCard = memoized(({ input, outputs }: InputProps) => {
  const node = useNode();
  const { id, description, muted, volume } = input;
  const { isOpen, unfoldButton } = useUnfold(description);
  return (
    <li class="card" data-input={input.name}>
      <div class="row">
        <ForeignText class="strong grow">{description}</ForeignText>
        <UseButton name={description} isDefault={input.default} send={() => node.setDefaultInput(id)} />
        {unfoldButton}
      </div>
      <div class="row">
        <Toggle
          label={translate('muteOf', { name: description })}
          icon="volume"
          iconOn="muted"
          isOn={muted}
          send={(desired) => node.muteInput(id, { muted: desired })}
        />
        <VolumeSlider
          class="grow"
          label={translate('volumeOf', { name: description })}
          value={volume}
          max={1}
          isDim={muted}
          send={(desired) => node.setInputVolume(id, { volume: desired })}
        />
      </div>
      <ListenChoice input={input} outputs={outputs} />
      {isOpen ? (
        <>
          <PortChoice device={input} name={description} send={(port) => node.setInputPort(id, { port })} />
          <Balance
            device={input}
            name={description}
            send={(balance) => node.setInputBalance(id, { balance })}
          />
        </>
      ) : null}
    </li>
  );
});

/** The value of the choice while the input is heard at no output. */
const NOWHERE = '';

/** An input may be heard at several outputs. Only the first is displayed. A choice replaces all of them. */
function ListenChoice({ input, outputs }: InputProps) {
  const node = useNode();
  const { id, description, listen = [] } = input;
  const options = [...outputs.values()].map((output) => ({ value: output.name, text: output.label }));
  const send = async (output: string): Promise<void> => {
    // The request for the new output comes first. If it is refused, the input stays at its old outputs.
    if (output !== NOWHERE) await node.listenToInput(id, { output });
    const otherOutputs = listen.filter((other) => other !== output);
    for (const other of otherOutputs) await node.stopListening(id, { output: other });
  };
  return (
    <Field name={translate('listenAt')}>
      <Choice
        label={translate('listenAtOf', { name: description })}
        value={listen[0] ?? NOWHERE}
        options={[{ value: NOWHERE, text: translate('listenNowhere') }, ...options]}
        send={send}
      />
    </Field>
  );
}
