// Prints a remark of a harness about another program, such as mpv, that has failed by itself. The remark is
// printed whether the test passes or fails. It is only allowed after the harness has checked that program
// directly, without tonearm between them.

export function remark(text: string): void {
  process.stdout.write(`# ${text}\n`);
}
