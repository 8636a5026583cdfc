// Scenarios of cards that come and go, as a USB DAC does: their driver is unbound from them, and bound
// again.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Audio, Output } from '../contract/audio-node.js';
import { type EmulatedNode, isFullSize } from './node.js';

export const DUMMY = 'alsa_output.platform-snd_dummy.0.stereo-fallback';
export const LOOPBACK = 'alsa_output.platform-snd_aloop.0.analog-stereo';
const OUTPUT_WITHOUT_CARDS = 'auto_null';

const ROUNDS = isFullSize ? 100 : 3;
/** After these rounds everything that is made only once has been made. */
const WARM_UP_ROUNDS = 2;
/**
 * The bound is wide, because V8 takes and gives back memory by chance. So the test does not find a leak of
 * two records in each round, because all these records together take less than a tenth of the bound.
 */
const GROWTH_MAX_KB = 24 * 1024;

/** A script that carries out lines such as `unbind snd_dummy`. */
const BIND_OR_UNBIND =
  'while read -r act card; do echo "$card.0" > "/sys/bus/platform/drivers/$card/$act"; done';

/**
 * Returns the command that starts a stream with this name, at the rate of the cards. The stream plays
 * `file`, by default silence. It plays until the user's unit of the same name ends.
 */
export const playCommand = (name: string, file = '/dev/zero', ...options: readonly string[]): string =>
  `systemd-run --user --quiet --collect --unit=${name} pacat --rate=48000 --client-name=${name} --stream-name=${name} ${options.join(' ')} ${file}`;

/** Resolves when the two cards are there, whatever ran before. */
export async function untilTwoCards(node: EmulatedNode): Promise<void> {
  await node.machine.root('modprobe --all snd-dummy snd-aloop');
  await Promise.all([node.untilOutput(DUMMY), node.untilOutput(LOOPBACK)]);
}

/** Prints the id of the process, its memory in kB, and the number of its descriptors and warnings. */
const RESOURCES = `pid=$(systemctl --user show --property=MainPID --value tonearm)
echo "$pid"; sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\).*/\\1/p' "/proc/$pid/status"; ls "/proc/$pid/fd" | wc -l
journalctl --user --unit=tonearm --output=cat | grep -cE '"level":"(warn|error)"' || true`;

interface Resources {
  readonly pid: number;
  readonly memoryKb: number;
  readonly descriptors: number;
  readonly warnings: number;
}

async function resourcesOf(node: EmulatedNode): Promise<Resources> {
  const output = await node.machine.user(RESOURCES);
  const [pid, memoryKb, descriptors, warnings] = output.trim().split('\n').map(Number);
  assert.ok(pid && memoryKb && descriptors && warnings !== undefined, `four numbers are expected: ${output}`);
  return { pid, memoryKb, descriptors, warnings };
}

/**
 * The events of the output from the index `from` on, as `updated ID` and `removed ID`. Equal ones in a row
 * count as one.
 */
export function outputEventsOf(node: EmulatedNode, name: string, from: number): readonly string[] {
  return node.stream.events
    .slice(from)
    .filter(({ type }) => type.startsWith('audio.output.'))
    .flatMap(({ type, data }) =>
      (JSON.parse(data) as Output[])
        .filter((output) => output.name === name)
        .map(({ id }) => `${type.replace('audio.output.', '')} ${id}`),
    )
    .filter((line, index, lines) => line !== lines[index - 1]);
}

/**
 * Sends a line to the script `BIND_OR_UNBIND`. It does not wait until the driver has obeyed, so a test can
 * send requests meanwhile.
 */
type OrderDriver = (line: string) => void;

export function hotPlugScenarios(node: () => EmulatedNode): void {
  let script: ReturnType<EmulatedNode['machine']['startScript']>;
  before(() => {
    script = node().machine.startScript(BIND_OR_UNBIND);
  });
  after(() => script.end());
  const orderDriver: OrderDriver = (line) => script.write(line);

  test('without a card the only output is one that the sound server makes by itself', async () => {
    assert.equal((await node().untilOutput(OUTPUT_WITHOUT_CARDS)).default, true);
    const { server, outputs, clients } = await node().get<Audio>('/audio');
    assert.deepEqual([server.default_sink, outputs.length, clients.length], [OUTPUT_WITHOUT_CARDS, 1, 0]);
  });

  test('a first card replaces the output that there is without cards', async () => {
    await node().machine.root('modprobe snd-dummy');
    await node().untilOutput(DUMMY, { default: true });
    await node().untilOutputGoes(OUTPUT_WITHOUT_CARDS);
    await node().untilAllAgree();
  });

  test('a second card comes, and the default output is the one that the sound server chooses', async () => {
    await node().machine.root('modprobe snd-aloop');
    await node().untilOutput(LOOPBACK);
    await node().untilAllAgree();
  });

  streamScenarios(node, orderDriver);
  repetitionScenario(node, orderDriver);

  test('the last card goes, and the output that there is without cards is back', async () => {
    orderDriver('unbind snd_aloop');
    orderDriver('unbind snd_dummy');
    // The first of the `streamScenarios` has started the stream `tone`, which still plays.
    await node().untilClient('tone', OUTPUT_WITHOUT_CARDS);
    await node().untilOutput(OUTPUT_WITHOUT_CARDS, { default: true });
    await node().untilOutputGoes(DUMMY);
    await node().untilAllAgree();
    orderDriver('bind snd_dummy');
    orderDriver('bind snd_aloop');
    await node().untilClient('tone', LOOPBACK);
    await node().machine.user('systemctl --user stop tone');
    await node().untilAllAgree();
  });
}

/** The first scenario starts the stream `tone`. The last of the `hotPlugScenarios` stops it. */
function streamScenarios(node: () => EmulatedNode, orderDriver: OrderDriver): void {
  test('a stream leaves an output whose card goes, and returns when the output is back with another id', async () => {
    await node().machine.user(playCommand('tone'));
    await node().change(`/audio/outputs/${LOOPBACK}/default`);
    await node().untilClient('tone', LOOPBACK);
    const { id } = await node().untilOutput(LOOPBACK, { default: true });
    const from = node().stream.events.length;

    orderDriver('unbind snd_aloop');
    await node().untilOutputGoes(LOOPBACK);
    await node().untilClient('tone', DUMMY);
    await node().untilOutput(DUMMY, { default: true });
    await node().untilAllAgree();

    orderDriver('bind snd_aloop');
    const returned = await node().untilOutput(LOOPBACK, { default: true });
    await node().untilClient('tone', LOOPBACK);
    await node().untilAllAgree();
    assert.notEqual(returned.id, id);
    // The last update of the output before it goes may come after `from`.
    const events = outputEventsOf(node(), LOOPBACK, from);
    assert.deepEqual(events.slice(-2), [`removed ${id}`, `updated ${returned.id}`]);
    const others = events.slice(0, -2).filter((line) => line !== `updated ${id}`);
    assert.deepEqual(others, []);
  });

  test('a volume for an output that has just gone is answered with 404, and changes no other output', async () => {
    const removed = await node().untilOutput(LOOPBACK);
    const { volume } = await node().untilOutput(DUMMY);
    orderDriver('unbind snd_aloop');
    const references = [removed.id, LOOPBACK];
    const statusFor = async (output: number | string): Promise<number> =>
      (await node().post(`/audio/outputs/${output}/volume`, { volume: 0.77 })).status;
    // Requests are sent before the output goes, while it goes, and once more afterwards.
    const statuses = new Set<number>();
    while (node().hasOutput(LOOPBACK)) {
      for (const output of references) statuses.add(await statusFor(output));
    }
    for (const output of references) assert.equal(await statusFor(output), 404, String(output));
    const unexpected = [...statuses].filter((status) => ![202, 404].includes(status));
    assert.deepEqual(unexpected, []);
    assert.equal((await node().untilOutput(DUMMY, { default: true })).volume, volume);
    orderDriver('bind snd_aloop');
    await node().untilClient('tone', LOOPBACK);
    await node().untilAllAgree();
  });
}

function repetitionScenario(node: () => EmulatedNode, orderDriver: OrderDriver): void {
  test(`a card that comes and goes ${ROUNDS} times leaves nothing behind`, async (t) => {
    let warmedUp: Resources | undefined;
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round === WARM_UP_ROUNDS) warmedUp = await resourcesOf(node());
      orderDriver('unbind snd_aloop');
      await node().untilOutputGoes(LOOPBACK);
      await node().untilClient('tone', DUMMY);
      orderDriver('bind snd_aloop');
      await node().untilClient('tone', LOOPBACK);
    }
    await node().untilAllAgree();
    const afterwards = await resourcesOf(node());
    assert.ok(warmedUp);
    t.diagnostic(
      `after ${WARM_UP_ROUNDS}: ${JSON.stringify(warmedUp)}; after ${ROUNDS}: ${JSON.stringify(afterwards)}`,
    );
    // Everything except the memory must be exactly as it was.
    assert.deepEqual({ ...afterwards, memoryKb: warmedUp.memoryKb }, warmedUp);
    const grownKb = afterwards.memoryKb - warmedUp.memoryKb;
    assert.ok(grownKb < GROWTH_MAX_KB, `${grownKb} kB more`);
  });
}
