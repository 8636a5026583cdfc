// The sheets. They are in one file, because they share what a sheet is.

export { Pairing } from './pairing.js';
export { Places } from './places.js';
export { Sleep } from './sleep.js';
