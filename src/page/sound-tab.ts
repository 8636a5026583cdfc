// Exports the components of the sound tab that are loaded late. The page loads this file when it first needs
// one of these components, and so gets all of them with one request.

export { Bluetooth } from './bluetooth.js';
export { Inputs } from './inputs.js';
export { PlayFromComputer } from './network.js';
export { OutputMore, ProfileChoice } from './output-more.js';
