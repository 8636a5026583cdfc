// Table of the times that the audio backend allows, in ms.

export const TIMING = {
  connectMs: 5_000,
  // A socket-activated PipeWire once took 25 s until its first answer.
  authMs: 30_000,
  // Below the 10 s after which a client gets a timeout (docs/http-api.md, "Limits").
  commandMs: 9_000,
  // Servers answer within milliseconds. A server that does not answer within this time, after such slow
  // commands, is not well.
  commandLeastMs: 1_000,
  // Waking takes 40 to 250 ms on a busy machine. An output that takes longer will not wake.
  wakeMs: 3_000,
  // PipeWire has made a card's new outputs within 0.3 s. A profile that makes fewer outputs than the server
  // says takes all of this time.
  switchMs: 2_000,
  // A read gets as much time as a command.
  requestMs: 9_000,
  // Events may be lost (PipeWire merges and drops them), and a stopped server sends nothing, so everything is
  // read again.
  reconcileMs: 60_000,
  // A server that closes a connection sooner is not well: the back-off then continues instead of starting
  // again.
  stableMs: 10_000,
  // PipeWire shows a placeholder until WirePlumber has found the cards, which takes a slow board seconds.
  noCardMs: 10_000,
};

export type Timing = Readonly<typeof TIMING>;
