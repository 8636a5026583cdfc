// Joins the two modules that draw covers on a canvas, so that the browser loads both as one file, and only
// when one of them is needed (late.tsx).

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
