// Joins the two modules that read the pixels of covers, so that the browser loads both as one file, and only
// when it displays a cover (late.tsx).

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
