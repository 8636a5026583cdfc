// Exports the version of package.json. The build replaces `TONEARM_VERSION` with it (packaging/bundles.mjs).

declare const TONEARM_VERSION: string;

export const VERSION: string = TONEARM_VERSION;
