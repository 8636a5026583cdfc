// What the page does with covers besides showing them, in one file that is loaded late.

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
