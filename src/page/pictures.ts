// Exports the two modules that draw covers on a canvas, so that both are one file. The browser loads this
// file only when it needs one of the modules (late.tsx).

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
