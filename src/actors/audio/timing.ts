// The deadlines and other times of the audio backend, in ms.

export const TIMING = {
  connectMs: 5_000,
  // A PipeWire that systemd started only for the connection (socket activation) has taken 25 s until its
  // first answer.
  authMs: 30_000,
  // A client gets a timeout after 10 s (docs/http-api.md, "Limits"), so a command must end earlier.
  commandMs: 9_000,
  // A command is sent only if at least this much of `commandMs` is left. This is long enough, because a
  // server that works needs only milliseconds for an answer.
  commandLeastMs: 1_000,
  // Waking takes 40 to 250 ms on a busy machine, and several seconds on a board with a slow core. An output
  // or input that is not awake after `wakeMs` counts as unable to wake, and its command is sent all the same.
  // But if the command has waited for earlier commands for more than 3 s (`commandMs` - `wakeMs` -
  // `commandLeastMs`) before the waking began, too little time is left to send it.
  wakeMs: 5_000,
  // After a switch of a card's profile, the command waits at most this long for the new outputs. PipeWire
  // makes them within 0.3 s. If a profile makes fewer outputs than the server has announced, the command
  // waits the whole time.
  switchMs: 2_000,
  // The deadline of each request that has no other deadline. It equals `commandMs`.
  requestMs: 9_000,
  // Everything is read again at this interval, because PipeWire merges and drops events. There is one more
  // reason: a server that hangs is found only by a request that gets no answer.
  reconcileMs: 60_000,
  // The waits before the server is dialled again grow with each attempt. They begin anew only after a
  // connection that was up for at least this time.
  stableMs: 10_000,
  // The lack of a sound card is reported only after this time. PipeWire has only a placeholder sink until
  // WirePlumber has found the cards, which takes seconds on a slow board.
  noCardMs: 10_000,
};

export type Timing = Readonly<typeof TIMING>;
