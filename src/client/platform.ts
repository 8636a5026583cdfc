// The types of the platform that the client's own declarations name. Each type is the platform's own, if the
// project has it: `Signal` is `AbortSignal` if there are the types of the DOM or of Node, and otherwise
// `SignalLike`. So a project without these types compiles, too. Types only.

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
