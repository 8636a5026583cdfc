// The page's header: the node's name, with a menu of the other nodes if it has found some, and the state of
// the connection; while that is lost, the reason and a button to try now.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { Button } from './icons.js';
import { isolated, translate } from './language.js';
import { Late, Part } from './late.js';
import type { Need } from './needs.js';
import { Status, useTicks } from './parts.js';
import type { Presence } from './presence.js';
import { type AbsenceReason, absenceReason } from './pulse.js';
import type { TextKey } from './texts/english.js';

const ROOMS = new Part(async () => (await import('./rooms.js')).RoomMenu);

/** How often it is checked whether an absence lasts too long. */
const CHECK_MS = 1000;
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
  reboot: ['restarting', 'rebooting'],
  poweroff: ['poweredOff', 'poweringOff'],
  upgrade: ['upgrading', 'upgradingAway'],
  restart: ['serviceEnded', 'serviceEndedAway'],
};

interface HeaderProps {
  readonly name: string;
  readonly state: NodeState;
  readonly presence: Presence;
  /** Only a part of the page is shown, so the header is minimal. */
  readonly isSmall: boolean;
  readonly needs: readonly Need[];
  /** Leads to the place of that need. */
  readonly onNeed: (need: Need) => void;
}

export function Header({ name, state, presence, isSmall, needs, onNeed }: HeaderProps) {
  const { live, status, absence, isOld } = presence;
  const isLost = status === 'lost';
  useTicks(CHECK_MS, isLost || absence !== undefined);
  const now = Date.now();
  const isLeaving = absence !== undefined && now - absence.at < LEAVING_MS;
  // While the node is connected, the upgrade's card shows its progress.
  const upgrade = isLost ? state.upgrade : undefined;
  const reason =
    isLost || isLeaving ? absenceReason(absence, upgrade, state.connection.since, now) : undefined;
  const [text, tone] = reason === undefined ? STATUS[status] : ([REASON_TEXTS[reason][0], 'busy'] as const);
  const long = reason === undefined ? 'lostLong' : REASON_TEXTS[reason][1];
  return (
    <header>
      {isSmall ? (
        <h1 class="unseen">{name}</h1>
      ) : (
        <div class="bar">
          <House name={name} isAlone={[...state.nodes.values()].every(({ self }) => self)} isAway={isLost} />
          {/* While all is well only screen readers have the text. */}
          <div role="status" class={status === 'live' && reason === undefined ? 'unseen' : ''}>
            <Status tone={tone}>{translate(text)}</Status>
          </div>
          {needs.length === 0 || isLost ? null : <NeedLine needs={needs} onNeed={onNeed} />}
        </div>
      )}
      {isLost || reason !== undefined ? (
        <div class={`banner ${reason === undefined ? 'bad' : ''}`}>
          <p class="wrap">{translate(long, { node: isolated(name) })}</p>
          {isLost ? <Button onClick={() => live.reconnect()}>{translate('tryNow')}</Button> : null}
        </div>
      ) : null}
      {isOld && !isLost ? (
        <div class="banner">
          <p role="status">{translate('newerPage')}</p>
          <Button onClick={() => location.reload()}>{translate('loadIt')}</Button>
        </div>
      ) : null}
    </header>
  );
}

/** The worst that needs a person, and how much else does. */
function NeedLine({ needs, onNeed }: Pick<HeaderProps, 'needs' | 'onNeed'>) {
  const [first, ...others] = needs;
  if (first === undefined) return null;
  const more = others.length === 0 ? '' : ` · ${translate('andMore', { count: others.length })}`;
  return (
    <Button class="need" onClick={() => onNeed(first)}>
      <span class={`state ${first.isBad ? 'bad' : 'busy'}`}>
        <span class="dot" />
      </span>
      <span class="clip">
        {first.text}
        {more}
      </span>
    </Button>
  );
}

interface HouseProps {
  readonly name: string;
  /** No other node is known. */
  readonly isAlone: boolean;
  readonly isAway: boolean;
}

function House({ name, isAlone, isAway }: HouseProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const close = (event: MouseEvent | KeyboardEvent): void => {
      const { current } = menu;
      const isInside =
        event.target instanceof Element && event.target.closest('.house :is(summary, button)') !== null;
      const closesMenu = event instanceof KeyboardEvent ? event.key === 'Escape' : !isInside;
      if (current !== null && closesMenu) current.open = false;
    };
    document.addEventListener('click', close);
    document.addEventListener('keydown', close);
  }, []);
  const title = (
    <h1 class="clip">
      <bdi>{name}</bdi>
    </h1>
  );
  if (isAlone) return title;
  return (
    <details ref={menu} class="house" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary title={translate('house')}>{title}</summary>
      {isOpen ? <Late part={ROOMS} props={{ isAway }} /> : null}
    </details>
  );
}
