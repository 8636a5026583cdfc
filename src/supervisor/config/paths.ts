// How a path in the configuration is read. Pure; touches no file.

import { type Reader, text } from './readers.js';

/** PATH_MAX counts the terminating zero (linux/limits.h). */
const MAX_PATH_BYTES = 4095;

/** sun_path of a sockaddr_un, less the terminating zero (unix(7)). */
const MAX_SOCKET_PATH_BYTES = 107;

/** An absolute path of a file; a leading `~/` is the home directory. */
export const filePath = pathOf(MAX_PATH_BYTES);

/** As `filePath`, short enough for a Unix socket. */
export const socketPath = pathOf(MAX_SOCKET_PATH_BYTES);

function pathOf(maxBytes: number): Reader<string> {
  return text('an absolute path', (value, home) => {
    const inHome = value.startsWith('~/');
    if (inHome && !home.startsWith('/')) return { wrong: 'there is no home directory to put for ~' };
    const path = inHome ? home.replace(/\/+$/, '') + value.slice(1) : value;
    if (!path.startsWith('/')) return { wrong: 'it must begin with / or ~/' };
    if (path.includes('\0')) return { wrong: 'it holds a zero character' };
    if (path.endsWith('/')) return { wrong: 'it names a directory, not a file' };
    const bytes = Buffer.byteLength(path);
    return bytes > maxBytes
      ? { wrong: `it has ${bytes} bytes, at most ${maxBytes} are allowed` }
      : { value: path };
  });
}
