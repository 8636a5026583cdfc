// Prints remarks of the harness about a real part that fails by itself, whether the test passes or fails. A
// remark is only allowed after the harness has asked that part directly, without tonearm between them.

export function remark(text: string): void {
  process.stdout.write(`# ${text}\n`);
}
