// Reads streams for storm.ts in a process of its own, so that they do not delay its measurements: the first argument is the
// port, the second their number. On order it says how many of them spoke last of a volume (in hundredths), and how many
// events they have heard together.

import { obey } from './fork.js';
import { StreamReaders } from './stream-readers.js';

const [port, count] = process.argv.slice(2).map(Number);
const readers = new StreamReaders('?types=audio.output.updated');
await readers.open(port ?? 0, count ?? 0);

obey(count ?? 0, {
  agree: (hundredths) => {
    const wanted = `"volume":${hundredths / 100},`;
    return readers.last().filter((text) => text.slice(text.lastIndexOf('\nevent: ')).includes(wanted)).length;
  },
  chunks: () => readers.chunks,
});
