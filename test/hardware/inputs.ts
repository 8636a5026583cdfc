// Scenarios of a real input. One half of the loopback card captures what is played into its other half. That
// sound stands for the sound of a record player, and does not come from the sound server.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { until } from '../until.js';
import { DUMMY, LOOPBACK, untilTwoCards } from './hot-plug.js';
import { type EmulatedNode, SLOW_MS } from './node.js';

const TURNTABLE = LOOPBACK.replace('alsa_output', 'alsa_input');
const LISTEN = `/audio/inputs/${TURNTABLE}/listen`;

/**
 * Plays noise into the other half of the card until the unit `record` ends. The card captures only if both
 * halves have the same format, rate and layout. The script reads these values from the half that
 * captures already. With `--separate-channels` aplay reads one file for each channel, so there are two
 * files.
 */
const PLAY_NOISE = `captured() { sed -n "s/^$1: \\([^ ]*\\).*/\\1/p" /proc/asound/Loopback/pcm0c/sub0/hw_params; }
case $(captured access) in
  *_NONINTERLEAVED) layout=--separate-channels ;;
  *) layout= ;;
esac
systemd-run --quiet --collect --unit=record aplay $layout --device=hw:Loopback,1,0 --file-type=raw \\
  --format="$(captured format)" --rate="$(captured rate)" --channels="$(captured channels)" /dev/urandom /dev/urandom`;

/**
 * Capture and playback of this card share one volume, which is 40 % unless it was set. At 40 % noise has a
 * peak of 0.06.
 */
const AUDIBLE_PEAK = 0.01;
const isAudible = (peak: number): boolean => peak > AUDIBLE_PEAK;
const isSilent = (peak: number): boolean => peak === 0;

export function inputScenarios(node: () => EmulatedNode): void {
  /** Takes the card away, or brings it back. */
  const orderDriver = (order: 'unbind' | 'bind'): Promise<string> =>
    node().machine.root(`echo snd_aloop.0 > /sys/bus/platform/drivers/snd_aloop/${order}`);
  before(() => untilTwoCards(node()));
  after(() => node().machine.root('systemctl stop record 2> /dev/null || true'));

  const untilNoStreamPlays = (): Promise<void> =>
    node().until('no stream plays', () => node().stream.model.known.clients.size === 0);

  /**
   * On a busy machine the sound server may need longer for a loopback than the daemon waits. Then the answer
   * is a 502, and nothing has changed. The request is sent again, as a person would do.
   */
  async function beginListening(): Promise<void> {
    const hasBegun = async (): Promise<boolean> => {
      const { status, text } = await node().post(LISTEN, { output: DUMMY });
      if (status !== 202) assert.match(text, /"status":502,.*the loopback stands nowhere/);
      return status === 202;
    };
    await until('the input is listened to', hasBegun, SLOW_MS);
  }

  /**
   * Plays noise into the input for a while. Expects silence, then the noise, then silence, in the levels of
   * both the input and the output. Before the call, the listening must have begun.
   */
  async function soundPassesThrough(t: TestContext): Promise<void> {
    const input = await node().untilInput(TURNTABLE, { listen: [DUMMY] });
    const output = await node().untilOutput(DUMMY);
    const stream = await node().openLevels();
    t.after(() => stream.close());
    const untilBothHave = (what: string, isExpected: (peak: number) => boolean): Promise<void> => {
      const doBothHave = (): boolean => {
        const { inputLevels, levels } = stream.model.known;
        const inputPeaks = inputLevels.get(input.id);
        const outputPeaks = levels.get(output.id);
        return inputPeaks?.every(isExpected) === true && outputPeaks?.every(isExpected) === true;
      };
      return stream.until(doBothHave, `${what} of the input and of the output`, SLOW_MS);
    };
    await untilBothHave('silence', isSilent);
    await node().machine.root(PLAY_NOISE);
    await untilBothHave('sound', isAudible);
    await node().machine.root('systemctl stop record');
    await untilBothHave('silence after the end', isSilent);
  }

  test('a card has an input, which is heard nowhere at first', async () => {
    const { listen } = await node().untilInput(TURNTABLE);
    assert.equal(listen, undefined);
  });

  test('listening to an input makes a stream at the output, with the description of the input as its name', async () => {
    await beginListening();
    const { description } = await node().untilInput(TURNTABLE, { listen: [DUMMY] });
    await node().untilClient(description, DUMMY);
    await node().untilAllAgree();
  });

  // The scenario above has begun to listen to the input, which is still heard at the output here.
  test('sound that is played into an input is measured there and at the output where it is heard', (t) =>
    soundPassesThrough(t));

  test('an input and its stream go with the card, and the input comes back with another id', async () => {
    const { id } = await node().untilInput(TURNTABLE);
    await orderDriver('unbind');
    await node().untilInputGoes(TURNTABLE);
    await untilNoStreamPlays();
    await orderDriver('bind');
    assert.notEqual((await node().untilInput(TURNTABLE)).id, id);
    await node().untilAllAgree();
  });

  test('an input that has come back can be heard again', async (t) => {
    await beginListening();
    await soundPassesThrough(t);
    await node().change(`${LISTEN}/stop`);
    await untilNoStreamPlays();
    await node().untilAllAgree();
  });
}
