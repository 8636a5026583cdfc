// Prints a remark of a harness about another program, such as mpv, that has failed by itself. The remark is
// printed whether the test passes or fails. The harness may print it only after a direct check of that
// program, without tonearm between the harness and the program.

export function remark(text: string): void {
  process.stdout.write(`# ${text}\n`);
}
