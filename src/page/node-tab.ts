// Exports the sections of the node's tab, so that they are one file that is loaded late (late.tsx).

export { Services } from './services.js';
export { System } from './system.js';
export { UpgradeCard } from './upgrade.js';
