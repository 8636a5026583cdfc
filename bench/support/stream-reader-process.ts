// Reads streams for storm.ts in a process of its own, so that reading does not delay the measurements.
// Arguments: the port, and the number of streams. The order `agree` is answered with the number of streams
// whose last event has the given volume (in hundredths). The order `chunks` is answered with the number of
// reads of all streams together.

import { obey } from './fork.js';
import { StreamReaders } from './stream-readers.js';

const [port, count] = process.argv.slice(2).map(Number);
const readers = new StreamReaders('?types=audio.output.updated');
await readers.open(port ?? 0, count ?? 0);

obey(count ?? 0, {
  agree: (hundredths) => {
    const expected = `"volume":${hundredths / 100},`;
    const lastEvents = readers.lastTexts().map((text) => text.slice(text.lastIndexOf('\nevent: ')));
    return lastEvents.filter((event) => event.includes(expected)).length;
  },
  chunks: () => readers.chunks,
});
