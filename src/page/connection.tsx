// The page's header: the node's name with the way to others, and the state of the connection; while that is lost, the reason and a button to try now.

import type { NodeRecord, NodeState } from '../client/client.js';
import { type AbsenceReason, type AnnouncedAbsence, absenceReason } from './absence.js';
import type { TextKey } from './english.js';
import { House } from './house.js';
import { isolated, translate } from './language.js';
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
const REASON_TEXTS: Readonly<Record<AbsenceReason, readonly [text: TextKey, long: TextKey]>> = {
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
  readonly absence: AnnouncedAbsence | undefined;
  readonly isOld: boolean;
  /** Only a part of the page is shown, so the header is minimal. */
  readonly isSmall: boolean;
  readonly retry: () => void;
}

export function Header(props: HeaderProps) {
  const { node, nodes, status, since, upgrade, absence, isOld, isSmall, retry } = props;
  const isLost = status === 'lost';
  useTicks(LOOK_MS, isLost || absence !== undefined);
  const now = Date.now();
  const isLeaving = absence !== undefined && now - absence.at < LEAVING_MS;
  // While the node is connected, the upgrade's card shows its progress.
  const reason =
    isLost || isLeaving ? absenceReason(absence, isLost ? upgrade : undefined, since, now) : undefined;
  const [text, tone] = reason === undefined ? STATUS[status] : ([REASON_TEXTS[reason][0], 'busy'] as const);
  const long = reason === undefined ? 'lostLong' : REASON_TEXTS[reason][1];
  return (
    <header>
      {isSmall ? null : (
        <div class="bar">
          <House node={node} nodes={nodes} />
          <p class={`state ${tone}`} role="status">
            <span class="dot" aria-hidden="true" />
            {translate(text)}
          </p>
        </div>
      )}
      {isLost || reason !== undefined ? (
        <div class={`banner ${reason === undefined ? 'bad' : ''}`}>
          <p class="wrap">{translate(long, { node: isolated(node) })}</p>
          {isLost ? (
            <button type="button" class="button small" onClick={retry}>
              {translate('tryNow')}
            </button>
          ) : null}
        </div>
      ) : null}
      {isOld && !isLost ? (
        <div class="banner">
          <p role="status">{translate('newerPage')}</p>
          <button type="button" class="button small" onClick={() => location.reload()}>
            {translate('loadIt')}
          </button>
        </div>
      ) : null}
    </header>
  );
}
