// Exports the sections of the node's tab as one file that is loaded late, so that all come at once.

export { Services } from './services.js';
export { System } from './system.js';
export { UpgradeCard } from './upgrade.js';
