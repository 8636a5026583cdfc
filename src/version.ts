// The version of this build, put in place by packaging/build.mjs. Nothing else.

declare const TONEARM_VERSION: string;

export const VERSION: string = TONEARM_VERSION;
