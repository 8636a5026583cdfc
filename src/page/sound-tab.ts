// The tab of sound without the outputs' rows. All of it is in one file, so that it comes at once.

export { Bluetooth } from './bluetooth.js';
export { Inputs } from './inputs.js';
export { PlayFromComputer } from './network.js';
export { OutputMore, ProfileChoice } from './output-more.js';
