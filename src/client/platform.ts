// The types of a platform (a browser or Node.js) that the client's declarations need. If a project has
// neither the types of the DOM nor those of Node.js, a simpler type replaces each of them, so that the
// project compiles. Types only.

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
