// Decides what the page does with covers besides showing them. The file is loaded late.

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
