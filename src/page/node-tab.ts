// The sections of the node's tab. They are in one file, so that all of them come at once.

export { Services } from './services.js';
export { System } from './system.js';
export { UpgradeCard } from './upgrade.js';
