// Exports what uses the pixels of covers, as one file that is loaded late.

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
