// Exports all sheets, so that they and their common component `Sheet` are one file that is loaded late.

export { OutputSheet } from './output-sheet.js';
export { Pairing } from './pairing.js';
export { Sleep } from './sleep.js';
