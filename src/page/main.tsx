// The page's entry: connects to the node that it came from, and draws what is known of it, once per frame at most.

import { options, render } from 'preact';
import { connect, tonearm } from '../client/client.js';
import { App, type Leaving } from './app.js';
import { language } from './language.js';
import { Levels } from './meter.js';
import { watchPulse } from './pulse.js';
import { Turns } from './turns.js';

function open(place: Element, turns: Turns): void {
  const levels = new Levels();
  let isBeating = true;
  /** What the node has been told to do with itself, until it is heard again. */
  let leaving: Leaving | undefined;
  // A proxy may have the node below a path of its own.
  const node = tonearm(new URL('.', location.href));
  const live = connect(node, {
    levels: !document.hidden,
    onChange: (state, changed) => {
      if (changed.includes('levels')) for (const [output, peaks] of state.levels) levels.put(output, peaks);
      if (changed.some((slice) => slice !== 'levels')) drawSoon();
    },
    onEvent: ({ type, data }) => {
      heard();
      if (type === 'power.action') leaving = data.action;
      else if (type === 'server.info' && data === 'connected') leaving = undefined;
      else return;
      drawSoon();
    },
  });
  const draw = (): void => {
    const { state } = live;
    render(
      <App live={live} state={state} isBeating={isBeating} leaving={leaving} levels={levels} turns={turns} />,
      place,
    );
  };
  const drawSoon = (): void => turns.soon(draw);
  const heard = watchPulse({
    ask: (signal) => fetch(`${node.transport.base}/server`, { method: 'HEAD', cache: 'no-store', signal }),
    isWatched: () => !document.hidden && live.state.connection.status === 'live',
    onChange: (now) => {
      isBeating = now;
      drawSoon();
    },
  });
  // What nobody sees costs the node nothing.
  document.addEventListener('visibilitychange', () => live.setLevels(!document.hidden));
  turns.later(draw);
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
document.documentElement.lang = language;
const turns = new Turns((call) => requestAnimationFrame(call));
options.debounceRendering = (work) => turns.soon(work);
// To read this module has been one task.
turns.soon(() => open(page, turns));
