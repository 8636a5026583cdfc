// Draws the page's header: the node's name, the status of the connection, the reason why the node is away,
// the first need, and the offer to load a newer page. Decides which of these are displayed. A need is
// something that needs a person's attention (needs.ts).

import { useEffect, useRef, useState } from 'preact/hooks';
import type { NodeState } from '../client/client.js';
import { Button } from './icons.js';
import { isolated, translate } from './language.js';
import { Late, LatePart } from './late.js';
import { type AbsenceReason, absenceReason } from './liveness.js';
import type { Need } from './needs.js';
import { titleAndDetail } from './notices.js';
import { Status, type Tone, useTicks } from './parts.js';
import type { Presence } from './presence.js';
import type { TextKey } from './texts/english.js';

const ROOMS = new LatePart(async () => (await import('./rooms.js')).RoomMenu);

/**
 * The header is drawn this often while the node is away or has announced an absence, because the reason in
 * the header may expire.
 */
const REDRAW_MS = 1000;
/** An announced absence is displayed for at most this time while the node is still connected. */
const LEAVING_MS = 10_000;

interface StatusLine {
  readonly text: TextKey;
  readonly tone: Tone;
}

const LOST: StatusLine = { text: 'lost', tone: 'bad' };
const STATUS_LINES: Readonly<Record<Presence['status'], StatusLine>> = {
  connecting: { text: 'connecting', tone: 'busy' },
  live: { text: 'live', tone: 'good' },
  lost: LOST,
  closed: LOST,
};

/**
 * Each reason has one text for the status line, and one for the banner below this line. With `reboot`, the
 * machine restarts. With `restart`, only the service has ended.
 */
const REASON_TEXTS: Readonly<Record<AbsenceReason, Readonly<{ status: TextKey; banner: TextKey }>>> = {
  reboot: { status: 'restarting', banner: 'rebooting' },
  poweroff: { status: 'poweredOff', banner: 'poweringOff' },
  upgrade: { status: 'upgrading', banner: 'upgradingAway' },
  restart: { status: 'serviceEnded', banner: 'serviceEndedAway' },
};

interface HeaderProps {
  readonly name: string;
  readonly state: NodeState;
  readonly presence: Presence;
  /** True if the page shows the wall, or only some sections. The header has no bar then. */
  readonly isReduced: boolean;
  readonly needs: readonly Need[];
  /** Opens the section of the need. */
  readonly onNeed: (need: Need) => void;
}

export function Header({ name, state, presence, isReduced, needs, onNeed }: HeaderProps) {
  const { live, status, absence, isOutdated: isPageOutdated } = presence;
  const isLost = status === 'lost';
  useTicks(REDRAW_MS, isLost || absence !== undefined);
  const now = Date.now();
  const isLeaving = absence !== undefined && now - absence.at < LEAVING_MS;
  // An upgrade explains why the node is away. While the node is connected, the upgrade is only a need.
  const upgrade = isLost ? state.upgrade : undefined;
  const { connection } = state;
  // If a node has just stopped answering, its stream is still open, and `connection.status` is still `live`.
  // Then `since` cannot be used, because it is the time at which the stream was opened.
  const lostSince = connection.status === 'live' ? now : connection.since;
  const possibleReason = absenceReason(absence, upgrade, lostSince, now);
  // A possible reason counts only in two cases: the node is away, or the node has just announced its absence.
  const reason = isLost || isLeaving ? possibleReason : undefined;
  const reasonTexts = reason && REASON_TEXTS[reason];
  const statusLine: StatusLine =
    reasonTexts === undefined ? STATUS_LINES[status] : { text: reasonTexts.status, tone: 'busy' };
  const isWell = status === 'live' && reason === undefined;
  const absenceText =
    isLost || reason !== undefined
      ? translate(reasonTexts?.banner ?? 'lostLong', { node: isolated(name) })
      : undefined;
  // Even the first attempt to connect may fail, for instance because of `api.sse.enabled: false`.
  const { problem } = connection;
  const firstFailureText = status === 'connecting' && problem ? titleAndDetail(problem) : undefined;
  const banner = absenceText ?? firstFailureText;
  return (
    <header>
      {isReduced ? (
        <h1 class="unseen">{name}</h1>
      ) : (
        <div class="bar">
          <HouseMenu
            name={name}
            isOnlyNode={[...state.nodes.values()].every(({ self }) => self)}
            isAway={isLost}
          />
          {/* While all is well, only screen readers have the text. */}
          <div role="status" class={isWell ? 'unseen' : ''}>
            <Status tone={statusLine.tone}>{translate(statusLine.text)}</Status>
          </div>
          {needs.length === 0 || isLost ? null : <NeedLine needs={needs} onNeed={onNeed} />}
        </div>
      )}
      {banner ? (
        <div class={`banner ${reason === undefined ? 'bad' : ''}`}>
          <p class="wrap">{banner}</p>
          {status === 'live' ? null : <Button onClick={() => live.reconnect()}>{translate('tryNow')}</Button>}
        </div>
      ) : null}
      {isPageOutdated && !isLost ? (
        <div class="banner">
          <p role="status">{translate('newerPage')}</p>
          <Button onClick={() => location.reload()}>{translate('loadIt')}</Button>
        </div>
      ) : null}
    </header>
  );
}

/** The most urgent need, and the number of the other needs. */
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
  /** True if no other node is known. */
  readonly isOnlyNode: boolean;
  readonly isAway: boolean;
}

/** Draws the node's name. If other nodes are known, a press on the name opens the menu of rooms. */
function HouseMenu({ name, isOnlyNode, isAway }: HouseProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const close = (event: MouseEvent | KeyboardEvent): void => {
      const { current } = menu;
      const { target } = event;
      // The browser itself opens and closes the menu at a press on the summary, which is the node's name. A
      // press on a button in the menu leaves the menu open.
      const isOnSummaryOrButton =
        target instanceof Element && target.closest('.house :is(summary, button)') !== null;
      const closesMenu = event instanceof KeyboardEvent ? event.key === 'Escape' : !isOnSummaryOrButton;
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
  if (isOnlyNode) return title;
  return (
    <details ref={menu} class="house" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary title={translate('house')}>{title}</summary>
      {isOpen ? <Late part={ROOMS} props={{ isAway }} /> : null}
    </details>
  );
}
