// Uses covers for more than showing them. The file is loaded late.

export { colourPage } from './colour-page.js';
export { keepCover, LastCover } from './last-cover.js';
