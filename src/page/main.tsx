// The page's entry: connects to the node that it came from, and draws what is known of it, once per frame at most.

import { render } from 'preact';
import { connect, tonearm } from '../client/client.js';
import { App, type Leaving } from './app.js';
import { language } from './language.js';
import { Levels } from './meter.js';
import { watchPulse } from './pulse.js';

function open(place: Element): void {
  const levels = new Levels();
  let isBeating = true;
  /** What the node has been told to do with itself, until it is heard again. */
  let leaving: Leaving | undefined;
  let frame = 0;
  const live = connect(tonearm(), {
    levels: !document.hidden,
    onChange: (state, changed) => {
      if (changed.includes('levels')) for (const [output, peaks] of state.levels) levels.put(output, peaks);
      if (changed.some((slice) => slice !== 'levels')) drawSoon();
    },
    onEvent: ({ type, data }) => {
      if (type === 'power.action') leaving = data.action;
      else if (type === 'server.info' && data === 'connected') leaving = undefined;
      else return;
      drawSoon();
    },
  });
  const draw = (): void => {
    frame = 0;
    const { state } = live;
    render(<App live={live} state={state} isBeating={isBeating} leaving={leaving} levels={levels} />, place);
  };
  const drawSoon = (): void => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };
  watchPulse({
    ask: (signal) => fetch('/server', { method: 'HEAD', cache: 'no-store', signal }),
    isWatched: () => !document.hidden && live.state.connection.status === 'live',
    onChange: (now) => {
      isBeating = now;
      drawSoon();
    },
  });
  // What nobody sees costs the node nothing.
  document.addEventListener('visibilitychange', () => live.setLevels(!document.hidden));
  drawSoon();
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
document.documentElement.lang = language;
open(page);
