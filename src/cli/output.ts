// Writes texts to standard output and standard error, and sets the exit status if they cannot be written.

import { errorText } from '../printable.js';

/**
 * Sets the exit status `whenLost` if the content cannot be written, such as to a full disk. It is no error
 * that the reader has closed its end of a pipe.
 */
export function writeOut(stream: NodeJS.WriteStream, content: string | Uint8Array, whenLost: number): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.exitCode = whenLost;
    const why = error.code === 'ENOSPC' ? 'the disk is full' : errorText(error);
    // If stderr goes to the same disk, this is lost too.
    if (stream === process.stdout) writeOut(process.stderr, `tonearm: cannot write: ${why}\n`, whenLost);
  });
  stream.write(content);
}

/** One line for each message. */
export function lines(messages: readonly string[]): string {
  return messages.map((message) => `${message}\n`).join('');
}
