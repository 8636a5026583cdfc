// The uses of a cover besides showing it, in one file that is loaded late: only with a cover.

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
