// The sheets, in one file that is loaded late, because they share the component `Sheet`.

export { Pairing } from './pairing.js';
export { OutputSheet } from './places.js';
export { Sleep } from './sleep.js';
