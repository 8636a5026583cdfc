// Checks that all clients know the true state. It compares the routes with the node itself, and then the
// streams, the page, the broker's retained topics and the announcement on the network with the routes.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Health } from '../../contract/daemon.js';
import { until } from '../../until.js';
import { BROKER, type FaultedNode, LAN_ADDRESS, TOPIC } from './faulted-node.js';
import type { Requests } from './load.js';
import { type KeptStreams, type Routes, still } from './streams.js';
import { areTrue, readWorld } from './world.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * The daemon reads everything once a minute, and only then finds a change that PipeWire has sent to nobody.
 * The page comes back within half a minute.
 */
const TRUE_WITHIN_MS = 80_000;

export async function read<T>(requests: Requests, path: string): Promise<T> {
  const { what, end, text } = await requests.ask('GET', path);
  assert.equal(end, 200, `${what}: ${text}`);
  return JSON.parse(text) as T;
}

/** Answers of the routes that are not on streams. */
interface Rest {
  readonly health: Health;
  readonly server: Json;
  readonly audioServer: Json;
  readonly power: Json;
}

async function ask(requests: Requests): Promise<Routes & Rest> {
  const paths = '/audio /services /players /upgrade /bluetooth /health /server /power/'.split(' ');
  const [audio, services, players, upgrade, bluetooth, health, server, power] = await Promise.all(
    paths.map((path) => read<Json>(requests, path)),
  );
  const { server: audioServer, ...lists } = audio ?? {};
  const rest = { services, players, upgrade, bluetooth, health, server, audioServer, power };
  return { ...lists, ...rest } as unknown as Routes & Rest;
}

const inNeighbour = (script: string): string => `ip netns exec neighbour ${script}`;

/** Messages that the broker retains below the node's topic. */
async function retained(on: FaultedNode): Promise<ReadonlyMap<string, string>> {
  const command = inNeighbour(`mosquitto_sub -h ${BROKER} -v -t '${TOPIC}/#' -W 1 --retained-only || true`);
  const lines = (await on.node.shell(command)).split('\n').filter((line) => line.startsWith(TOPIC));
  const space = (line: string): number => line.indexOf(' ');
  const topic = (line: string): string => line.slice(TOPIC.length + 1, space(line));
  return new Map(lines.map((line) => [topic(line), line.slice(space(line) + 1)]));
}

function brokerKnows(topics: ReadonlyMap<string, string>, routes: Routes & Rest): void {
  const { server, power, upgrade, bluetooth } = routes;
  const expected: Record<string, unknown> = {
    server,
    power,
    upgrade,
    bluetooth,
    backends: routes.health.backends,
    'audio/server': routes.audioServer,
    'audio/sleep': { active: false },
    'audio/clients': routes.clients,
  };
  for (const output of routes.outputs) expected[`audio/outputs/${String(output['name'])}`] = output;
  for (const service of routes.services)
    expected[`services/${String(service['scope'])}/${String(service['name'])}`] = service;
  for (const player of still(routes.players))
    expected[`players/${String(player['bus_name']).replace('org.mpris.MediaPlayer2.', '')}`] = player;
  const { node, status, ...rest } = Object.fromEntries(topics);
  assert.equal(status, 'online');
  assert.match(node ?? '', /^[a-z0-9]+$/i);
  const texts = Object.entries(rest).map(([topic, text]): [string, unknown] => {
    const value: unknown = JSON.parse(text);
    return [topic, topic.startsWith('players/') ? still([value as Json])[0] : value];
  });
  assert.deepEqual(Object.fromEntries(texts), expected);
}

/**
 * Checks that the node is announced on its one interface besides loopback, and that the daemon answers
 * there.
 */
async function networkFinds(on: FaultedNode): Promise<void> {
  const [browsed, answer] = await Promise.all([
    on.node.shell('timeout 5 avahi-browse -rptk _http._tcp'),
    on.node.shell(inNeighbour(`curl --silent --max-time 5 http://${LAN_ADDRESS}:8018/server`)),
  ]);
  const found = browsed
    .split('\n')
    .map((line) => line.split(';'))
    .filter(([kind]) => kind === '=')
    .map(([, at, protocol, , , , , address, port]) => [at, protocol, address, port]);
  assert.deepEqual(found, [['lan0', 'IPv4', LAN_ADDRESS, '8018']]);
  assert.match(answer, /"api_sw":"tonearm"/);
}

const WORDS: Readonly<Record<string, string>> = { active: 'Running', inactive: 'Stopped', failed: 'Failed' };

function processOf(props: unknown): string {
  const own: unknown = Object(props)['application.process.id'];
  return typeof own === 'string' ? own : '';
}

async function pageShows(page: Page, routes: Routes): Promise<void> {
  assert.equal(await page.locator('.bar').getByRole('status').textContent(), 'Connected');
  const outputs = page.locator('.output');
  assert.equal(await outputs.count(), routes.outputs.length);
  for (const { name, volume, muted } of routes.outputs) {
    const output = page.locator(`.output[data-output="${String(name)}"]`);
    const value = await output.getByRole('slider').first().inputValue();
    assert.equal(value, String(Math.round(Number(volume) * 100)));
    const mute = output.getByRole('button', { name: /^Mute / });
    assert.equal(await mute.getAttribute('aria-pressed'), String(muted === true));
  }
  for (const { name, active_state: state } of routes.services) {
    const card = page.locator(`.service[data-unit="${String(name)}"]`);
    assert.equal(await card.locator('.state').textContent(), WORDS[String(state)]);
  }
  const { powered } = routes.bluetooth as { powered: boolean };
  assert.equal(await page.getByRole('switch', { name: 'Bluetooth' }).isChecked(), powered);
  assert.equal(await page.locator('.player').count(), routes.players.length);
  // The page shows a player's own streams as a part of the player.
  const owners = routes.players.map(({ pid }) => String(pid));
  const others = routes.clients.filter(({ props }) => !owners.includes(processOf(props)));
  assert.equal(await page.locator('.stream').count(), others.length);
  const { state } = routes.upgrade['run'] as { state: string };
  const failures = await page.locator('#upgrade').getByText('The last upgrade failed').count();
  assert.equal(failures, state === 'failed' ? 1 : 0);
}

/** Waits until everybody knows what is true; rejects with the difference that was left. */
export async function everybodyKnows(
  on: FaultedNode,
  requests: Requests,
  streams: KeptStreams,
  hasBegun: boolean,
): Promise<void> {
  const doAgree = async (): Promise<true> => {
    const [world, routes] = await Promise.all([readWorld(on, hasBegun), ask(requests)]);
    areTrue(routes, routes.power, world);
    streams.knowThat(routes);
    await pageShows(on.page, routes);
    const [topics] = await Promise.all([retained(on), networkFinds(on)]);
    brokerKnows(topics, routes);
    return true;
  };
  await until('routes, streams and page agree with the programs', doAgree, TRUE_WITHIN_MS);
}
