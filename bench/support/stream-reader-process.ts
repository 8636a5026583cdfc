// Reads streams for storm.ts in a process of its own, so that they do not delay its measurements. Arguments:
// the port, and the number of streams. On order it answers how many streams show a given volume (in
// hundredths) last, and how many events all have received.

import { obey } from './fork.js';
import { StreamReaders } from './stream-readers.js';

const [port, count] = process.argv.slice(2).map(Number);
const readers = new StreamReaders('?types=audio.output.updated');
await readers.open(port ?? 0, count ?? 0);

obey(count ?? 0, {
  agree: (hundredths) => {
    const expected = `"volume":${hundredths / 100},`;
    return readers.last().filter((text) => text.slice(text.lastIndexOf('\nevent: ')).includes(expected))
      .length;
  },
  chunks: () => readers.chunks,
});
