// Exports all sheets as one file that is loaded late, because they share the component `Sheet`.

export { OutputSheet } from './output-sheet.js';
export { Pairing } from './pairing.js';
export { Sleep } from './sleep.js';
