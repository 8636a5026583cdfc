// Counts the daemon's functions that one volume change of a stream runs, and their files. First another
// program makes the change, then a POST makes it. The count of each ends when a listener has the event. V8's
// precise coverage counts the functions in both threads of the unbundled daemon. Without `--json` this
// program also lists them, in the order of their files.
//   node build/bench/way.js [--json]

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Daemon } from '../test/contract/daemon.js';
import { Mixer } from '../test/contract/stream-mixer.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { send } from '../test/tools/http.js';
import { until } from '../test/until.js';
import { measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const SOURCES = new URL('../src/', import.meta.url).href;
const COUNTS = new URL('./support/call-counts.js', import.meta.url).href;
const STREAMS = 20;
const WARM_UPS = 20;
const THREADS = 2;
const VOLUME_EVENT = 'audio.updated';

const sound = await startPulseAudio();
const players = await sound.streams('player');
const streams = await players.open(Array.from({ length: STREAMS }, () => ({})));
const folder = mkdtempSync(join(tmpdir(), 'tonearm-way-'));
const daemon = await Daemon.start({
  env: { ...sound.env, CALL_COUNTS: folder },
  config: 'systemd: {enabled: false}\n',
  api: 'ui: {enabled: false}',
  entry: fileURLToPath(new URL('main.js', SOURCES)),
  nodeArguments: [`--import=${COUNTS}`],
});
await daemon.untilBackend('audio', 'up');
const listener = await daemon.events();
const mixer = await Mixer.connect(sound.socketPath);
let expected = 0;
let made = 0;
/** The number with which the names of the next files of call-counts.ts begin. */
let fileNumber = 0;

/** The functions that the daemon has called since the last measurement, as `FILE FUNCTION:OFFSET`. */
async function functionsCalled(): Promise<readonly string[]> {
  daemon.signal('SIGUSR2');
  const writtenFiles = (): readonly string[] =>
    readdirSync(folder).filter((name) => name.startsWith(`${fileNumber}-`));
  const scripts: Profiler.ScriptCoverage[] = [];
  await until('both threads have written', () => {
    if (writtenFiles().length < THREADS) return Promise.resolve(false);
    const texts = writtenFiles().map((name) => readFileSync(join(folder, name), 'utf8'));
    const areComplete = texts.every((text) => text.endsWith(']'));
    if (!areComplete) return Promise.resolve(false);
    scripts.push(...texts.flatMap((text) => JSON.parse(text) as Profiler.ScriptCoverage[]));
    return Promise.resolve(true);
  });
  fileNumber += 1;
  const names = scripts
    .filter(({ url }) => url.startsWith(SOURCES))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
        .map(
          ({ functionName, ranges }) =>
            `${url.slice(SOURCES.length)} ${functionName || 'anonymous'}:${ranges[0]?.startOffset}`,
        ),
    );
  return [...new Set(names)].sort();
}

async function untilReceived(): Promise<void> {
  expected += 1;
  await until('the listener has the change', () =>
    Promise.resolve(listener.events.filter(({ type }) => type === VOLUME_EVENT).length >= expected),
  );
}

const nextVolume = (): number => {
  made += 1;
  return (made % 50) / 50;
};
const ids = streams.map(({ id }) => id);

async function change(): Promise<void> {
  const volume = nextVolume();
  await mixer.setStreamVolume(ids[made % STREAMS] ?? 0, volume);
  await untilReceived();
}

async function post(): Promise<void> {
  const body = JSON.stringify({ volume: nextVolume() });
  const path = `/audio/clients/${ids[made % STREAMS]}/volume`;
  const headers = { 'Content-Type': 'application/json' };
  await send(daemon.port, { method: 'POST', path, headers, body });
  await untilReceived();
}

async function measureWay(
  what: string,
  act: () => Promise<void>,
  functionsMax: number,
  filesMax: number,
): Promise<Row[]> {
  for (let left = WARM_UPS; left > 0; left -= 1) await act();
  await functionsCalled();
  await act();
  const functions = await functionsCalled();
  const files = new Set(functions.map((name) => name.split(' ')[0]));
  if (!process.argv.includes('--json')) console.log([what, ...functions].join('\n  '));
  const goal = (atMost: number) => ({ of: 'result', atMost }) as const;
  return [
    { what: `functions for ${what}`, unit: '', samples: [functions.length], goal: goal(functionsMax) },
    { what: `their files`, unit: '', samples: [files.size], goal: goal(filesMax) },
  ];
}

await measurement(async () => {
  const rows = [
    ...(await measureWay('a change', change, 110, 24)),
    ...(await measureWay('a POST and its event', post, 190, 36)),
  ];
  mixer.close();
  await daemon.stop();
  await sound.stop();
  rmSync(folder, { recursive: true });
  return rows;
});
