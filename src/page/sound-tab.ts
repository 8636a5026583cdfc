// Exports what the sound tab has besides the rows of outputs. All of it comes at once, because this one file
// is loaded late.

export { Bluetooth } from './bluetooth.js';
export { Inputs } from './inputs.js';
export { PlayFromComputer } from './network.js';
export { OutputMore, ProfileChoice } from './output-more.js';
