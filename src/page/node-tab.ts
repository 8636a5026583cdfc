// Joins the sections of the node's tab in one file that is loaded late (late.tsx), so that all come at once.

export { Services } from './services.js';
export { System } from './system.js';
export { UpgradeCard } from './upgrade.js';
