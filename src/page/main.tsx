// The page's entry: connects to the node that served it, and draws its state, at most once per frame.

import { options, render } from 'preact';
import { connect, type NodeEvent, tonearm } from '../client/client.js';
import type { AnnouncedAbsence } from './absence.js';
import { App } from './app.js';
import { isOutdated, whenStill } from './edition.js';
import { keepFocus } from './focus.js';
import { language } from './language.js';
import { Levels } from './meter.js';
import { showWholeAtTouch } from './parts.js';
import { HAND_MS, watchHands, watchPulse } from './pulse.js';
import { Turns } from './turns.js';
import { viewOf } from './view.js';

function announcedAbsence({ type, data }: NodeEvent): AnnouncedAbsence | undefined {
  if (type === 'power.action') return { reason: data.action, at: Date.now() };
  return type === 'server.info' && data === 'bye' ? { reason: 'restart', at: Date.now() } : undefined;
}

/** A reason that is older than this does not explain a `bye`. */
const REASON_MS = 5 * 60_000;

function open(place: Element, turns: Turns): void {
  const levels = new Levels();
  const view = viewOf(location.search);
  let isBeating = true;
  let absence: AnnouncedAbsence | undefined;
  let wasLive = false;
  let wasLost = false;
  let isOld = false;
  const handMs = watchHands(document);
  // A proxy may serve the node below a path of its own.
  const node = tonearm(new URL('.', location.href));
  const live = connect(node, {
    levels: !document.hidden,
    onChange: ({ connection, levels: heights }, changed) => {
      if (changed.includes('levels')) levels.show(heights);
      const isLive = connection.status === 'live';
      // A stream may be opened again before the node goes away, so only a lost connection counts as a return.
      if (isLive && !wasLive) {
        absence = undefined;
        if (wasLost) void compare();
      }
      wasLive = isLive;
      wasLost ||= connection.status === 'lost';
      if (changed.some((slice) => slice !== 'levels')) drawSoon();
    },
    onEvent: (event) => {
      noteAlive();
      const next = announcedAbsence(event);
      if (next === undefined) return;
      // The service's own `bye` follows after the reason.
      const isKnown = absence !== undefined && next.at - absence.at < REASON_MS;
      if (next.reason === 'restart' && isKnown) return;
      absence = next;
      drawSoon();
    },
  });
  const draw = (): void => {
    const { state } = live;
    render(<App {...{ live, state, isBeating, absence, isOld, view, levels, turns }} />, place);
  };
  /** A node may return with another version. */
  const compare = async (): Promise<void> => {
    // Without an answer, the next return checks again.
    if (isOld || !(await isOutdated(node.transport.base).catch(() => false))) return;
    isOld = true;
    drawSoon();
    whenStill(handMs, () => location.reload());
  };
  const drawSoon = (): void => turns.soon(draw);
  const noteAlive = watchPulse({
    ask: (signal) => fetch(`${node.transport.base}/server`, { method: 'HEAD', cache: 'no-store', signal }),
    attention: () => {
      const { status } = live.state.connection;
      if (document.hidden || status === 'connecting') return 'resting';
      if (status !== 'live') return 'lost';
      return handMs() < HAND_MS ? 'watched' : 'resting';
    },
    onChange: (now) => {
      isBeating = now;
      if (now) absence = undefined;
      drawSoon();
    },
    onReturn: () => live.reconnect(),
  });
  // A hidden page must not cost the node anything.
  document.addEventListener('visibilitychange', () => live.setLevels(!document.hidden));
  turns.later(draw);
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
document.documentElement.lang = language;
showWholeAtTouch(page);
const turns = new Turns((call) => requestAnimationFrame(call), keepFocus(page));
options.debounceRendering = (work) => turns.soon(work);
// In a separate task, because loading this module was one already.
turns.soon(() => open(page, turns));
