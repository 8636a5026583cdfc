// The types of the platform that the client's own declarations name. A project without the DOM's types, and
// without Node's, has none of them, and compiles all the same. Each type below is the global's where there is
// one: with the DOM's types `Signal` is `AbortSignal`, without them it is `SignalLike`. Types only.

/** The part of a signal that the client uses. */
interface SignalLike {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The platform's `AbortSignal`. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : SignalLike;

interface BlobLike {
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  text(): Promise<string>;
}

/** The platform's `Blob`. */
export type Binary = typeof globalThis extends { Blob: { prototype: infer B } } ? B : BlobLike;

/** The platform's `fetch`. */
export type Fetch = typeof globalThis extends { fetch: infer F }
  ? F
  : (url: string, init?: object) => Promise<object>;
