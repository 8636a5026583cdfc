// Exports what the sound tab has besides the rows of outputs, as one file that is loaded late, so that all
// comes at once.

export { Bluetooth } from './bluetooth.js';
export { Inputs } from './inputs.js';
export { PlayFromComputer } from './network.js';
export { OutputMore, ProfileChoice } from './output-more.js';
