// These edits of the sources add a backend and a bridge. They change only files that
// docs/development/adding.md lists. The backend is a bell that counts how often it rings.

const SETTINGS = 'src/protocol/actor/settings.ts';

/** The file, a text that the file contains once, and its replacement, in which `@` stands for the text. */
export const EDITS: readonly (readonly [file: string, text: string, replacement: string])[] = [
  ['src/protocol/actor/backends.ts', "'bluetooth'] as const", "'bluetooth', 'bell'] as const"],
  [SETTINGS, 'interface Settings {', '@\n readonly bell: { readonly enabled: boolean };'],
  ['src/protocol/actor/collections.ts', "  'server.info': 'ServerInfo',", "@ 'bell.updated': 'Bell',"],
  [
    'src/protocol/actor/collections.ts',
    'const COLLECTIONS = {',
    "@\n bell: { backend: 'bell', updated: 'bell.updated' },",
  ],
  [
    'src/protocol/actor/schemas.ts',
    'export const PowerRecord',
    'export const BellRecord = closed({ rings: Type.Integer() });\n@',
  ],
  ['src/supervisor/config/keys.ts', '\n  power: {', '\n bell: { enabled: key(false, readers.flag) },@'],
  ['src/protocol/actor/collections.ts', 'const RESOURCES = {', "@\n bell: single('bell', 'bell'),"],
  [
    'src/protocol/actor/operations.ts',
    'const TABLE = {',
    `@
     bell: published('/bell', 'The bell', 'Bell'),
     ringBell: post('bell', '/bell', 'ring', 'Rings the bell', { mqtt: byWord('ring') }),`,
  ],
  ['src/protocol/actor/schemas.ts', 'const COMPONENTS = {', '@\n Bell: BellRecord,'],
  // The client keeps nothing of the bell, but every event must have a rule.
  ['src/client/store.ts', 'const RULES: Rules = {', "@\n 'bell.updated': () => ({}),"],
  // Nothing makes this fault. It shows only that a new backend can have faults of its own.
  [
    'src/protocol/actor/faults.ts',
    'const ROWS = {',
    "@\n 'too-loud': { status: 409, title: 'The bell is too loud', refusedBy: ['bell'] },",
  ],
];

export const BACKEND_FILE = 'src/actors/bell/backend.ts';

/** There is only one bell, so the key of its record is empty. */
export const BACKEND_WORKER = `
import { actorThread } from '../runtime.js';

export default actorThread<'bell'>((_settings, publish) => {
  let rings = 0;
  const publishRings = (): void => publish.put('bell', '', JSON.stringify({ rings }));
  publishRings();
  publish.status('up');
  return {
    handle: async () => {
      rings += 1;
      publishRings();
      return { ok: true, value: {} };
    },
    stop: async () => undefined,
  };
});
`;

/** A bridge: a clapper, which rings the bell when it receives the record of a bell that has never rung. */
export const BRIDGE_EDITS: typeof EDITS = [
  ['src/protocol/actor/backends.ts', 'BRIDGES = [', "@'clapper', "],
  // A row of `IS_NEEDED` is true for the collections that are sent to the bridge.
  [
    'src/protocol/actor/messages.ts',
    "  discovery: (collection) => collection === 'served',",
    "@ clapper: (collection) => collection === 'bell',",
  ],
  [SETTINGS, 'interface Settings {', '@\n readonly clapper: { readonly enabled: boolean };'],
  ['src/supervisor/config/keys.ts', '\n  power: {', '\n clapper: { enabled: key(false, readers.flag) },@'],
];

export const BRIDGE_FILE = 'src/actors/clapper/bridge.ts';

export const BRIDGE_WORKER = `
import { bridgeThread } from '../runtime.js';

export default bridgeThread<'clapper'>((_settings, node) => {
  return {
    applyChanges: ({ changes }) => {
      for (const change of changes) {
        if (change.kind !== 'put' || change.collection !== 'bell') continue;
        node.status('up', change.json);
        if (change.json === '{"rings":0}') void node.ask({ operation: 'ringBell' });
      }
    },
    stop: async () => undefined,
  };
});
`;
