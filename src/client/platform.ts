// The types of browsers and Node.js that the client's declarations need. A project that has neither the
// types of the DOM nor those of Node.js compiles, too, with a simpler type for each. Types only.

interface SignalLike {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** `AbortSignal`, if the project has this type. The `prototype` of a class has the type of its objects. */
export type AbortSignalType = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : SignalLike;

interface BlobLike {
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  text(): Promise<string>;
}

/** `Blob`, if the project has this type. */
export type Binary = typeof globalThis extends { Blob: { prototype: infer B } } ? B : BlobLike;

/** The type of `fetch`, if the project has it. */
export type Fetch = typeof globalThis extends { fetch: infer F }
  ? F
  : (url: string, init?: object) => Promise<object>;
