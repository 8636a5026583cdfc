// Writes what a command answers with, or is wrong with it. It ends nothing: what is lost becomes the exit status that it is given.

/** `whenLost` becomes the status if a full disk does not take the text. A reader that has left has seen enough. */
export function writeOut(stream: NodeJS.WriteStream, text: string, whenLost: number): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.exitCode = whenLost;
    const why = error.code === 'ENOSPC' ? 'the disk is full' : error.message;
    // Where it goes to the same disk, nobody can be told.
    if (stream === process.stdout) writeOut(process.stderr, `tonearm: cannot write: ${why}\n`, whenLost);
  });
  stream.write(text);
}

export function lines(messages: readonly string[]): string {
  return messages.map((message) => `${message}\n`).join('');
}
