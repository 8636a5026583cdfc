// Draws the foot of a phone's page: the main volume, the tabs, and sometimes a small player.

import type { NodeState, OutputRecord, PlayerRecord } from '../client/client.js';
import { Icon, type IconName } from './icons.js';
import { translate } from './language.js';
import { useAreButtonsVisible } from './large-player-buttons.js';
import { OutputVolume } from './main-volume.js';
import { ForeignText } from './parts.js';
import { PlayButton, playingTitle, titleOf } from './transport.js';
import type { TabId } from './view.js';

interface FootProps {
  readonly state: NodeState;
  readonly player: PlayerRecord | undefined;
  /** The output of the main volume; undefined if there is none, or if the sound server is away. */
  readonly output: OutputRecord | undefined;
  readonly isNodeAway: boolean;
  readonly tabs: readonly TabId[];
  readonly tab: TabId;
  readonly onTab: (tab: TabId) => void;
  /** The tabs in which something needs a person's attention. */
  readonly markedTabs: ReadonlySet<TabId>;
}

const TAB_ICONS: Readonly<Record<TabId, IconName>> = { music: 'note', sound: 'speaker', node: 'node' };

/** The foot stays in its place while the page scrolls, whichever tab is open. */
export function Foot({ state, player, output, isNodeAway, tabs, tab, onTab, markedTabs }: FootProps) {
  const areButtonsVisible = useAreButtonsVisible();
  return (
    <footer class="foot">
      <fieldset disabled={isNodeAway}>
        {/* While the large player's buttons are off the screen, the foot has a small player. */}
        {areButtonsVisible ? null : <SmallPlayer state={state} player={player} />}
        {output === undefined ? null : (
          <div class="foot-volume">
            <ForeignText class="quiet">{output.label}</ForeignText>
            <OutputVolume output={output} isMain />
          </div>
        )}
      </fieldset>
      <nav class="tabs" aria-label={translate('parts')}>
        {tabs.map((id) => (
          <button
            key={id}
            type="button"
            class="tab"
            aria-current={id === tab ? 'page' : undefined}
            onClick={() => onTab(id)}
          >
            <Icon name={TAB_ICONS[id]} />
            {translate(`tab_${id}`)}
            {markedTabs.has(id) ? (
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

function SmallPlayer({ state, player }: Pick<FootProps, 'state' | 'player'>) {
  return (
    <div class="row mini">
      {player === undefined ? null : (
        <PlayButton
          player={player}
          label={(what) => translate('labelWithName', { what, name: titleOf(player) })}
        />
      )}
      <ForeignText class="strong grow">{playingTitle(state, player)}</ForeignText>
    </div>
  );
}
