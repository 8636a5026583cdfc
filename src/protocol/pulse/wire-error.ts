// The one error of the codec: the other side broke the protocol, or a value does not fit it. It never leaves the session.

export class WireError extends Error {
  override readonly name = 'WireError';
}
