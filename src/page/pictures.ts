// The uses of covers besides showing them. They are in one file, which a page with a cover loads.

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
