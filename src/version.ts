// The version of this build, inserted by packaging/build.mjs. Nothing else.

declare const TONEARM_VERSION: string;

export const VERSION: string = TONEARM_VERSION;
