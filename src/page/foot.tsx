// The foot of a phone's page: the volume of the room, the tabs, and the player where it is out of sight.

import type { NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { Icon } from './icons.js';
import { translate } from './language.js';
import { OutputVolume, soundingOf } from './main-volume.js';
import { ForeignLine } from './parts.js';
import { useIsVisible } from './sight.js';
import { PlayButton, titleOf } from './transport.js';
import type { TabId } from './view.js';

interface FootProps {
  readonly state: NodeState;
  readonly player: PlayerRecord | undefined;
  /** Undefined where there is no sound. */
  readonly output: OutputRecord | undefined;
  /** Nothing can be sent now. */
  readonly isGone: boolean;
  readonly tabs: readonly TabId[];
  readonly tab: TabId;
  readonly onTab: (tab: TabId) => void;
  /** The tabs in which something needs a person. */
  readonly marked: ReadonlySet<TabId>;
}

/** Each thing stays in its place while the page scrolls, whichever tab is open. */
export function Foot({ state, player, output, isGone, tabs, tab, onTab, marked }: FootProps) {
  const isHeroVisible = useIsVisible();
  return (
    <footer class="foot">
      <fieldset disabled={isGone}>
        {isHeroVisible ? null : <Mini state={state} player={player} />}
        {output === undefined ? null : (
          <div class="foot-volume">
            <ForeignLine class="quiet">{output.label}</ForeignLine>
            <OutputVolume output={output} isMain />
          </div>
        )}
      </fieldset>
      <nav class="tabs" aria-label={translate('parts')}>
        {tabs.map((each) => (
          <button
            key={each}
            type="button"
            class="tab"
            aria-current={each === tab ? 'page' : undefined}
            onClick={() => onTab(each)}
          >
            <Icon name={each === 'music' ? 'note' : each === 'sound' ? 'speaker' : 'node'} />
            {translate(`tab_${each}`)}
            {marked.has(each) ? (
              <span class="mark">
                <span class="unseen">{translate('needsYou')}</span>
              </span>
            ) : null}
          </button>
        ))}
      </nav>
    </footer>
  );
}

function Mini({ state, player }: Pick<FootProps, 'state' | 'player'>) {
  const name =
    player === undefined
      ? (soundingOf(state.clients)[0]?.name ?? translate('nothingPlays'))
      : titleOf(player);
  const label = (what: string): string => translate('ofPlayer', { what, name });
  return (
    <div class="row mini">
      {player === undefined ? null : <PlayButton player={player} label={label} />}
      <ForeignLine class="strong grow">{name}</ForeignLine>
    </div>
  );
}
