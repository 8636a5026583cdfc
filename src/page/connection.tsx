// The page's header: the node's name with the way to others, and the state of the connection; while that is lost, the reason and a button to try now.

import type { NodeRecord, NodeState } from '../client/client.js';
import { type Errand, errandOf, type Farewell } from './absence.js';
import type { TextKey } from './english.js';
import { House } from './house.js';
import { isolated, say } from './language.js';
import { useTicks } from './parts.js';

/** How often it is checked whether an absence lasts too long. */
const LOOK_MS = 1000;
/** A node that announced its end but is still connected after this time has stayed. */
const LEAVING_MS = 10_000;

const STATUS = {
  connecting: ['connecting', 'busy'],
  live: ['live', 'good'],
  lost: ['lost', 'bad'],
  closed: ['lost', 'bad'],
} as const;

/** The texts for each reason, short and long. */
const ERRANDS: Readonly<Record<Errand, readonly [text: TextKey, long: TextKey]>> = {
  reboot: ['rebootingShort', 'rebooting'],
  poweroff: ['poweredOff', 'poweringOff'],
  upgrade: ['upgrading', 'upgradingAway'],
  restart: ['rebootingShort', 'restartingAway'],
};

interface HeaderProps {
  readonly node: string;
  readonly nodes: readonly NodeRecord[];
  readonly status: NodeState['connection']['status'];
  readonly since: number;
  readonly upgrade: NodeState['upgrade'];
  readonly farewell: Farewell | undefined;
  readonly isOld: boolean;
  /** Only a part of the page is shown, so the header is minimal. */
  readonly isSmall: boolean;
  readonly retry: () => void;
}

export function Header(props: HeaderProps) {
  const { node, nodes, status, since, upgrade, farewell, isOld, isSmall, retry } = props;
  const isLost = status === 'lost';
  useTicks(LOOK_MS, isLost || farewell !== undefined);
  const now = Date.now();
  const isLeaving = farewell !== undefined && now - farewell.at < LEAVING_MS;
  // While the node is connected, the upgrade's card shows its progress.
  const errand =
    isLost || isLeaving ? errandOf(farewell, isLost ? upgrade : undefined, since, now) : undefined;
  const [text, tone] = errand === undefined ? STATUS[status] : ([ERRANDS[errand][0], 'busy'] as const);
  const long = errand === undefined ? 'lostLong' : ERRANDS[errand][1];
  return (
    <header>
      {isSmall ? null : (
        <div class="bar">
          <House node={node} nodes={nodes} />
          <p class={`state ${tone}`} role="status">
            <span class="dot" aria-hidden="true" />
            {say(text)}
          </p>
        </div>
      )}
      {isLost || errand !== undefined ? (
        <div class={`banner ${errand === undefined ? 'bad' : ''}`}>
          <p class="wrap">{say(long, { node: isolated(node) })}</p>
          {isLost ? (
            <button type="button" class="button small" onClick={retry}>
              {say('tryNow')}
            </button>
          ) : null}
        </div>
      ) : null}
      {isOld && !isLost ? (
        <div class="banner">
          <p role="status">{say('newerPage')}</p>
          <button type="button" class="button small" onClick={() => location.reload()}>
            {say('loadIt')}
          </button>
        </div>
      ) : null}
    </header>
  );
}
