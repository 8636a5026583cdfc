// Checks that all clients know the true state. It compares the routes with the node itself, and then the
// streams, the page, the broker's retained topics and the announcement on the network with the routes.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Health } from '../../contract/daemon.js';
import { until } from '../../until.js';
import { BROKER, type FaultedNode, LAN_ADDRESS, TOPIC } from './faulted-node.js';
import type { Requests } from './load.js';
import { type KeptStreams, type Routes, withoutPosition } from './streams.js';
import { assertRoutesAreTrue, readWorld } from './world.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * The daemon takes longest. It reads the sound server's whole state once a minute, and only this reading
 * finds a change that PipeWire has sent to nobody. The page comes back within half a minute.
 */
const TRUE_WITHIN_MS = 80_000;

export async function read<T>(requests: Requests, path: string): Promise<T> {
  const { what, end, text } = await requests.ask('GET', path);
  assert.equal(end, 200, `${what}: ${text}`);
  return JSON.parse(text) as T;
}

/** Answers of routes that are not compared with the streams. */
interface OtherAnswers {
  readonly health: Health;
  readonly server: Json;
  readonly audioServer: Json;
  readonly power: Json;
}

async function readRoutes(requests: Requests): Promise<Routes & OtherAnswers> {
  const paths = '/audio /services /players /upgrade /bluetooth /health /server /power/'.split(' ');
  const [audio, services, players, upgrade, bluetooth, health, server, power] = await Promise.all(
    paths.map((path) => read<Json>(requests, path)),
  );
  const { server: audioServer, ...lists } = audio ?? {};
  const rest = { services, players, upgrade, bluetooth, health, server, audioServer, power };
  return { ...lists, ...rest } as unknown as Routes & OtherAnswers;
}

/** The network namespace `neighbour` stands for another machine (faulted-node.ts). */
const inNeighbour = (script: string): string => `ip netns exec neighbour ${script}`;

/** Messages that the broker retains below the node's topic. */
async function retainedMessages(faultedNode: FaultedNode): Promise<ReadonlyMap<string, string>> {
  // At the end of its time (`-W 1`) mosquitto_sub exits with an error.
  const command = inNeighbour(`mosquitto_sub -h ${BROKER} -v -t '${TOPIC}/#' -W 1 --retained-only || true`);
  const lines = (await faultedNode.node.shell(command)).split('\n').filter((line) => line.startsWith(TOPIC));
  const spaceIn = (line: string): number => line.indexOf(' ');
  const topicOf = (line: string): string => line.slice(TOPIC.length + 1, spaceIn(line));
  return new Map(lines.map((line) => [topicOf(line), line.slice(spaceIn(line) + 1)]));
}

function assertBrokerAgrees(topics: ReadonlyMap<string, string>, routes: Routes & OtherAnswers): void {
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
  for (const player of withoutPosition(routes.players))
    expected[`players/${String(player['bus_name']).replace('org.mpris.MediaPlayer2.', '')}`] = player;
  // `node` and `status` are plain texts. The other topics are JSON.
  const { node, status, ...records } = Object.fromEntries(topics);
  assert.equal(status, 'online');
  assert.match(node ?? '', /^[a-z0-9]+$/i);
  const values = Object.entries(records).map(([topic, text]): [string, unknown] => {
    const value: unknown = JSON.parse(text);
    return [topic, topic.startsWith('players/') ? withoutPosition([value as Json])[0] : value];
  });
  assert.deepEqual(Object.fromEntries(values), expected);
}

/**
 * Checks that the node is announced on its one interface besides loopback, and that the daemon answers
 * there.
 */
async function assertIsAnnounced(faultedNode: FaultedNode): Promise<void> {
  const [browsed, answer] = await Promise.all([
    faultedNode.node.shell('timeout 5 avahi-browse -rptk _http._tcp'),
    faultedNode.node.shell(inNeighbour(`curl --silent --max-time 5 http://${LAN_ADDRESS}:8018/server`)),
  ]);
  // A line with an address is `=;lan0;IPv4;NAME;TYPE;DOMAIN;HOST;ADDRESS;PORT;TEXTS`.
  const found = browsed
    .split('\n')
    .map((line) => line.split(';'))
    .filter(([kind]) => kind === '=')
    .map(([, networkInterface, protocol, , , , , address, port]) => [
      networkInterface,
      protocol,
      address,
      port,
    ]);
  assert.deepEqual(found, [['lan0', 'IPv4', LAN_ADDRESS, '8018']]);
  assert.match(answer, /"api_sw":"tonearm"/);
}

const STATE_TEXTS: Readonly<Record<string, string>> = {
  active: 'Running',
  inactive: 'Stopped',
  failed: 'Failed',
};

function processIdOf(props: unknown): string {
  const id: unknown = Object(props)['application.process.id'];
  return typeof id === 'string' ? id : '';
}

async function assertPageAgrees(page: Page, routes: Routes): Promise<void> {
  assert.equal(await page.locator('.bar').getByRole('status').textContent(), 'Connected');
  const outputs = page.locator('.output');
  assert.equal(await outputs.count(), routes.outputs.length);
  for (const { name, volume, muted } of routes.outputs) {
    const output = page.locator(`.output[data-output="${String(name)}"]`);
    // The first slider of an output is its volume.
    const value = await output.getByRole('slider').first().inputValue();
    assert.equal(value, String(Math.round(Number(volume) * 100)));
    const mute = output.getByRole('button', { name: /^Mute / });
    assert.equal(await mute.getAttribute('aria-pressed'), String(muted === true));
  }
  for (const { name, active_state: state } of routes.services) {
    const card = page.locator(`.service[data-unit="${String(name)}"]`);
    assert.equal(await card.locator('.state').textContent(), STATE_TEXTS[String(state)]);
  }
  const { powered } = routes.bluetooth as { powered: boolean };
  assert.equal(await page.getByRole('switch', { name: 'Bluetooth' }).isChecked(), powered);
  assert.equal(await page.locator('.player').count(), routes.players.length);
  // The page shows a player's own streams as a part of the player.
  const owners = routes.players.map(({ pid }) => String(pid));
  const others = routes.clients.filter(({ props }) => !owners.includes(processIdOf(props)));
  assert.equal(await page.locator('.stream').count(), others.length);
  const { state } = routes.upgrade['run'] as { state: string };
  const failures = await page.locator('#upgrade').getByText('The last upgrade failed').count();
  assert.equal(failures, state === 'failed' ? 1 : 0);
}

/** Waits until all clients know the true state. Rejects with the difference that is left. */
export async function untilEverybodyAgrees(
  faultedNode: FaultedNode,
  requests: Requests,
  streams: KeptStreams,
  hasUpgradeBegun: boolean,
): Promise<void> {
  const allAgree = async (): Promise<true> => {
    const [world, routes] = await Promise.all([
      readWorld(faultedNode, hasUpgradeBegun),
      readRoutes(requests),
    ]);
    assertRoutesAreTrue(routes, routes.power, world);
    streams.mustAgreeWith(routes);
    await assertPageAgrees(faultedNode.page, routes);
    const [topics] = await Promise.all([retainedMessages(faultedNode), assertIsAnnounced(faultedNode)]);
    assertBrokerAgrees(topics, routes);
    return true;
  };
  await until('routes, streams and page agree with the programs', allAgree, TRUE_WITHIN_MS);
}
