// Exports all sheets, so the build makes one file of them and of their common component `Sheet`. The page
// loads this file when it first opens a sheet.

export { OutputSheet } from './output-sheet.js';
export { Pairing } from './pairing.js';
export { Sleep } from './sleep.js';
