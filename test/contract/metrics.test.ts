// A real Prometheus scrapes `GET /metrics` of the built daemon, and then has an answer to each question that
// the dashboard of examples/ asks.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startMpv } from '../players/mpv.js';
import { playersAnd, startPlayersNode } from '../players/node.js';
import { startSession } from '../players/session.js';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { send } from '../tools/http.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { exampleFile } from './documented.js';

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

/** Grafana replaces the names by values such as these. */
const VARIABLES = { $__rate_interval: '20s', $node: '.*' };

function filledIn(expression: string): string {
  let filled = expression;
  for (const [name, value] of Object.entries(VARIABLES)) filled = filled.replaceAll(name, value);
  return filled;
}

/** The part of Prometheus' answer to a query that the test reads. */
interface QueryData {
  readonly result: readonly { readonly metric: object }[];
}

/**
 * Starts a Prometheus that scrapes the daemon at the port `target` each second. Resolves with a function
 * that asks Prometheus' own interface, and gives the `data` of its answer.
 */
async function startPrometheus(t: TestContext, target: number) {
  const folder = temporaryFolder(t);
  const config = join(folder, 'prometheus.yml');
  const port = await freePort();
  writeFileSync(
    config,
    `scrape_configs: [{job_name: tonearm, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: ["127.0.0.1:${target}"]}]}]\n`,
  );
  const program = startProgram(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { env: { PATH: process.env['PATH'] ?? '' }, log: join(folder, 'log') },
  );
  t.after(() => program.end());
  return async <T>(path: string, query: Readonly<Record<string, string>>): Promise<T> => {
    const { text } = await send(port, { path: `/api/v1/${path}?${new URLSearchParams(query)}` });
    const { data, error } = JSON.parse(text) as { readonly data?: T; readonly error?: string };
    if (data === undefined) throw new Error(`${path}: ${error}`);
    return data;
  };
}

const skip = skipReason(playersAnd('prometheus'));

test('Prometheus has an answer to each query of examples/grafana.json, and the types and units of the metrics', {
  skip,
}, async (t) => {
  const node = await startPlayersNode(await startSession());
  t.after(() => node.stop());
  await startMpv(node.session);
  await node.player('org.mpris.MediaPlayer2.mpv');
  const askPrometheus = await startPrometheus(t, node.daemon.port);
  const query = async (expression: string) =>
    (await askPrometheus<QueryData>('query', { query: expression })).result;
  const { panels } = JSON.parse(exampleFile('grafana.json')) as Dashboard;
  assert.ok(panels.length > 0);
  for (const { title, targets } of panels) {
    for (const { expr } of targets)
      await until(`"${title}" shows ${expr}`, async () => (await query(filledIn(expr))).length > 0);
  }
  // Prometheus' older text format has neither units nor the type `info`. So a unit and this type show that
  // Prometheus has read OpenMetrics.
  const metadataOf = async (metric: string) =>
    (await askPrometheus<Readonly<Record<string, readonly object[]>>>('metadata', { metric }))[metric];
  const build = { type: 'info', help: 'The versions of tonearm and of Node.', unit: '' };
  assert.deepEqual(await metadataOf('tonearm_build'), [build]);
  const uptime = { type: 'gauge', help: 'How long the service has run.', unit: 'seconds' };
  assert.deepEqual(await metadataOf('tonearm_uptime_seconds'), [uptime]);
  // A scrape that takes longer than 1 s leaves the answers to queries empty until the next scrape. So the
  // query is repeated.
  await until('each thread has a figure', async () => {
    const series = await query('count by (thread) (tonearm_thread_cpu_seconds_total)');
    const labels = series.map(({ metric }) => JSON.stringify(metric));
    return ['main', 'audio', 'players'].every((thread) => labels.includes(JSON.stringify({ thread })));
  });
});
