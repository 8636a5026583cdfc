// What the harness says of a real part that does wrong by itself: the run shows it, whether the test passes or fails. Only what
// that part was asked for without tonearm between is said here.

export function remark(text: string): void {
  process.stdout.write(`# ${text}\n`);
}
