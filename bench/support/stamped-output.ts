// Makes an ordinary record of an output whose nick is the time at which it was made, so that a reader in
// another process can compute the delay.

const STAMP_DIGITS = 16;
const STAMP_MARK = Buffer.from('"nick":"');

/** Microseconds of the machine's monotonic clock, which all processes share. */
export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** The JSON of an output, which has the same length at any time. */
export function stampedOutput(atUs: number): string {
  return JSON.stringify({
    id: 1,
    name: 'alsa_output.platform-soc_107c000000_sound.stereo-fallback',
    description: 'Living room',
    nick: String(atUs).padStart(STAMP_DIGITS, '0'),
    label: 'Living room',
    muted: false,
    volume: 0.55,
    state: 'running',
    default: true,
    driver: 'module-alsa-card.c',
    is_network: false,
    props: { 'device.class': 'sound', 'device.api': 'alsa', 'alsa.card_name': 'snd_rpi_hifiberry_dac' },
    balance: 0,
  });
}

/** Replaces the time in bytes that contain a stamp. */
export function stamp(bytes: Buffer, atUs: number): void {
  const at = bytes.indexOf(STAMP_MARK) + STAMP_MARK.length;
  bytes.write(String(atUs).padStart(STAMP_DIGITS, '0'), at, 'latin1');
}

/** Calls back with each stamp in `bytes`, in microseconds. */
export function stampsIn(bytes: Buffer, onStamp: (atUs: number) => void): void {
  for (let at = bytes.indexOf(STAMP_MARK); at >= 0; ) {
    const from = at + STAMP_MARK.length;
    onStamp(Number(bytes.toString('latin1', from, from + STAMP_DIGITS)));
    at = bytes.indexOf(STAMP_MARK, from);
  }
}
