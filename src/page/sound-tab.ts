// Exports what the sound tab has besides the rows of outputs. The page loads this file when it first needs a
// part of it, and so gets all parts with one request.

export { Bluetooth } from './bluetooth.js';
export { Inputs } from './inputs.js';
export { PlayFromComputer } from './network.js';
export { OutputMore, ProfileChoice } from './output-more.js';
