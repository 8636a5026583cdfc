// Draws the outputs, each as a row with a button for the rarely used settings. A card without an output has a
// row, too, if the card has several profiles.

import type { CardRecord, NodeState, OutputRecord } from '../client/client.js';
import { translate } from './language.js';
import { Late, LatePart } from './late.js';
import { hasNoSoundCard, OutputMute, OutputSlider } from './main-volume.js';
import { AnnouncedLevel, Meter } from './meter.js';
import { useNode } from './node.js';
import { outputIcon } from './output-icon.js';
import { Empty, ForeignText, Missing, memoized, Rows, useUnfold } from './parts.js';
import { UseButton } from './use-button.js';

const MORE = new LatePart(async () => (await import('./sound-tab.js')).OutputMore);
const PROFILE = new LatePart(async () => (await import('./sound-tab.js')).ProfileChoice);

/** Outputs are in the order of their ids. An id does not change, so no row moves while somebody uses it. */
export function Outputs(state: NodeState) {
  const outputs = [...state.outputs.values()].sort((a, b) => a.id - b.id);
  const cards = [...state.cards.values()];
  const hasOutput = (card: CardRecord): boolean => outputs.some((output) => output.card === card.name);
  const cardsWithoutOutput = cards.filter((card) => card.profiles.length > 1 && !hasOutput(card));
  if (hasNoSoundCard(state))
    return <Missing detail={state.backends.get('audio')?.detail}>{translate('noCard')}</Missing>;
  if (outputs.length + cardsWithoutOutput.length === 0) return <Empty>{translate('noOutputs')}</Empty>;
  return (
    <Rows>
      {outputs.map((output) => (
        <OutputRow key={output.id} output={output} card={cards.find(({ name }) => name === output.card)} />
      ))}
      {cardsWithoutOutput.map((card) => (
        <li key={card.name} class="silent" data-card={card.name}>
          <ForeignText class="strong">{card.description}</ForeignText>
          <Late part={PROFILE} props={{ card }} />
        </li>
      ))}
    </Rows>
  );
}

type OutputRowProps = Readonly<{ output: OutputRecord; card: CardRecord | undefined }>;

const OutputRow = memoized(({ output, card }: OutputRowProps) => {
  const node = useNode();
  const { id, label: name } = output;
  const { isOpen, unfoldButton } = useUnfold(name);
  return (
    <li class="output" data-output={output.name} data-default={output.default}>
      <div class="output-row">
        <OutputMute output={output} icon={outputIcon(output)} />
        <div class="output-main">
          <ForeignText class="strong">{name}</ForeignText>
          <OutputSlider output={output}>
            <Meter outputId={id} />
          </OutputSlider>
        </div>
        <UseButton
          name={name}
          isDefault={output.default}
          send={() => node.setDefaultOutput(id, { move: true })}
        />
        {unfoldButton}
      </div>
      <AnnouncedLevel outputId={id} name={name} />
      {isOpen ? <Late part={MORE} props={{ output, card }} /> : null}
    </li>
  );
});
