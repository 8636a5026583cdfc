// Writes to standard output and standard error, and sets the exit status if that fails.

import { errorText } from '../printable.js';

/**
 * Writes the content. If that fails, as on a full disk, the exit status will be `statusIfLost`. A reader
 * that has closed its end of the pipe is no error.
 */
export function writeOut(
  stream: NodeJS.WriteStream,
  content: string | Uint8Array,
  statusIfLost: number,
): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.exitCode = statusIfLost;
    const why = error.code === 'ENOSPC' ? 'the disk is full' : errorText(error);
    // If stderr goes to the same disk, this message is lost, too.
    if (stream === process.stdout) writeOut(process.stderr, `tonearm: cannot write: ${why}\n`, statusIfLost);
  });
  stream.write(content);
}

/** One line for each message. */
export function lines(messages: readonly string[]): string {
  return messages.map((message) => `${message}\n`).join('');
}
