// Finds what blocks a Bluetooth adapter: rfkill's files in /sys, which everybody may read. It unblocks nothing.

import { readdir, readFile } from 'node:fs/promises';

const RFKILL = '/sys/class/rfkill';

/** The reason why the adapter (`hci0`) is blocked, as the end of a sentence; undefined if it is not, or if that cannot be known. */
export async function blockerOf(adapter: string, folder = RFKILL): Promise<string | undefined> {
  const switches = await readdir(folder).catch(() => []);
  for (const name of switches) {
    const read = async (file: string): Promise<string> =>
      (await readFile(`${folder}/${name}/${file}`, 'utf8').catch(() => '')).trim();
    if ((await read('name')) !== adapter) continue;
    if ((await read('hard')) === '1') return 'a switch of the machine (rfkill, hard)';
    if ((await read('soft')) === '1') return 'rfkill (soft): run "rfkill unblock bluetooth" as root';
  }
  return undefined;
}
