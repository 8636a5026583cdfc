// Decides the page's colours by the pixels of a cover, so that all text can be read (WCAG 2.2, 1.4.3). Pure.

/** A colour without its lightness. */
export interface Tint {
  /** Degrees, 0..360. */
  readonly hue: number;
  /** 0..1. */
  readonly saturation: number;
}

/** Red, green and blue, 0..1. */
export type Colour = readonly [red: number, green: number, blue: number];

export interface Palette {
  /** The background of the large player, or of the wall. */
  readonly ground: Colour;
  /** The colour of the page's buttons and sliders. */
  readonly accent: Colour;
}

/** WCAG's least contrast for text of any size. */
const CONTRAST_MIN = 4.5;
/** The circle of hues is divided into this many ranges. */
const HUE_RANGES = 12;
/**
 * A cover counts as coloured if one range of hues has more chroma than this. Chroma is 0 for grey, and 1 at
 * most. The chroma of a range is the sum of its pixels' chroma, divided by the number of the cover's pixels.
 */
const CHROMA_MIN = 0.03;
const LIGHTNESS_STEP = 0.01;
/** A more saturated accent would glare. */
const ACCENT_SATURATION_MAX = 0.85;
/** Bytes per pixel: red, green, blue, alpha. */
const PIXEL_BYTES = 4;

/** The sums over the pixels in one range of hues. Each pixel is weighted by its chroma. */
interface HueSum {
  chroma: number;
  saturation: number;
  /** A hue is a direction, so hues are added as vectors. */
  x: number;
  y: number;
}

/**
 * `pixels` has the red, green, blue and alpha of each pixel, 0..255. Returns undefined if the cover does not
 * count as coloured (`CHROMA_MIN`).
 */
export function tintIn(pixels: ArrayLike<number>): Tint | undefined {
  const sums: HueSum[] = Array.from({ length: HUE_RANGES }, () => ({ chroma: 0, saturation: 0, x: 0, y: 0 }));
  for (let start = 0; start + PIXEL_BYTES <= pixels.length; start += PIXEL_BYTES) {
    const channel = (index: number): number => (pixels[start + index] ?? 0) / 255;
    const { hue, saturation, chroma } = hslOf([channel(0), channel(1), channel(2)]);
    const range = Math.floor(hue / (360 / HUE_RANGES)) % HUE_RANGES;
    const sum = sums[range];
    if (sum === undefined) continue;
    sum.chroma += chroma;
    sum.saturation += saturation * chroma;
    sum.x += Math.cos((hue * Math.PI) / 180) * chroma;
    sum.y += Math.sin((hue * Math.PI) / 180) * chroma;
  }
  const strongest = sums.reduce((best, sum) => (sum.chroma > best.chroma ? sum : best));
  const pixelCount = pixels.length / PIXEL_BYTES;
  if (strongest.chroma <= CHROMA_MIN * pixelCount) return undefined;
  const hue = (Math.atan2(strongest.y, strongest.x) * 180) / Math.PI;
  return { hue: (hue + 360) % 360, saturation: strongest.saturation / strongest.chroma };
}

/** The hue is in degrees. The saturation and the chroma are 0..1, as in the colour model HSL. */
function hslOf(colour: Colour) {
  const max = Math.max(...colour);
  const chroma = max - Math.min(...colour);
  if (chroma === 0) return { hue: 0, saturation: 0, chroma };
  const lightness = max - chroma / 2;
  const saturation = chroma / (1 - Math.abs(2 * lightness - 1));
  const sixths = hueSixths(colour, max, chroma);
  return { hue: (sixths * 60 + 360) % 360, saturation, chroma };
}

/** The hue in sixths of a circle, from -1 to 5: red is 0, green 2, blue 4. */
function hueSixths([red, green, blue]: Colour, max: number, chroma: number): number {
  if (max === red) return (green - blue) / chroma;
  if (max === green) return 2 + (blue - red) / chroma;
  return 4 + (red - green) / chroma;
}

/**
 * Returns the colour that has this tint and this lightness, 0..1. The formula is that of `hsl` in CSS (CSS
 * Color 4, 7.1).
 */
function colourOf({ hue, saturation }: Tint, lightness: number): Colour {
  const amplitude = saturation * Math.min(lightness, 1 - lightness);
  // The shift counts in twelfths of the circle of hues. It is 0 for red, 8 for green, and 4 for blue.
  const channel = (shift: number): number => {
    const twelfths = (shift + hue / 30) % 12;
    return lightness - amplitude * Math.max(-1, Math.min(twelfths - 3, 9 - twelfths, 1));
  };
  return [channel(0), channel(8), channel(4)];
}

/** WCAG's relative luminance, 0..1. */
function luminanceOf([red, green, blue]: Colour): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** Returns the amount of light, as WCAG's formula needs it. An sRGB channel is not proportional to light. */
function linear(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}

/** WCAG's contrast ratio, 1..21. */
export function contrastOf(one: Colour, other: Colour): number {
  const luminances = [luminanceOf(one), luminanceOf(other)];
  return (Math.max(...luminances) + 0.05) / (Math.min(...luminances) + 0.05);
}

/** `level` is 0..255. */
const grey = (level: number): Colour => [level / 255, level / 255, level / 255];

/**
 * `readableColour` searches for the ground and the accent, and begins with their `lightness`. Each of the two
 * must have enough contrast with its own `greys`. Each grey stands for a colour of page.css, such as
 * `grey(0x63)` for `--quiet` of the light scheme. The contrast with that colour is a little higher than the
 * contrast with the grey.
 */
interface Scheme {
  readonly ground: {
    readonly lightness: number;
    /** The ground has this part of the tint's saturation. */
    readonly saturationPart: number;
    readonly greys: readonly Colour[];
  };
  readonly accent: { readonly lightness: number; readonly greys: readonly Colour[] };
  /**
   * Each step of the search for the ground adds this to the lightness. Each step of the search for the accent
   * subtracts it.
   */
  readonly step: number;
}

const SCHEMES: Readonly<Record<'light' | 'dark', Scheme>> = {
  light: {
    ground: { lightness: 0.85, saturationPart: 0.75, greys: [grey(0x63)] },
    accent: { lightness: 0.42, greys: [grey(0xea)] },
    step: LIGHTNESS_STEP,
  },
  dark: {
    ground: { lightness: 0.22, saturationPart: 0.55, greys: [grey(0xa2)] },
    accent: { lightness: 0.6, greys: [grey(0x2f), grey(0x24)] },
    step: -LIGHTNESS_STEP,
  },
};

/**
 * `initial` is a lightness. Adds `step` to it until the colour has enough contrast with all `others`, or is
 * white or black.
 */
function readableColour(tint: Tint, initial: number, step: number, others: readonly Colour[]): Colour {
  let lightness = initial;
  const isReadable = (): boolean =>
    others.every((other) => contrastOf(colourOf(tint, lightness), other) >= CONTRAST_MIN);
  while (!isReadable() && lightness > 0 && lightness < 1) lightness += step;
  return colourOf(tint, Math.min(1, Math.max(0, lightness)));
}

/** The ground and the accent have enough contrast with their greys, and with each other. */
export function paletteOf(tint: Tint, schemeName: 'light' | 'dark'): Palette {
  const scheme = SCHEMES[schemeName];
  const { lightness, saturationPart, greys } = scheme.ground;
  const groundTint = { ...tint, saturation: tint.saturation * saturationPart };
  const ground = readableColour(groundTint, lightness, scheme.step, greys);
  const accentTint = { ...tint, saturation: Math.min(ACCENT_SATURATION_MAX, tint.saturation) };
  const besideAccent = [ground, ...scheme.accent.greys];
  const accent = readableColour(accentTint, scheme.accent.lightness, -scheme.step, besideAccent);
  return { ground, accent };
}

export function cssOf(colour: Colour): string {
  return `rgb(${colour.map((channel) => Math.round(channel * 255)).join(' ')})`;
}
