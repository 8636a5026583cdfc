// Picks one colour from the pixels of a cover, and makes a ground and an accent of it that can be read, in
// light and in dark (WCAG 2.2, 1.4.3). Pure.

/** Degrees, and 0..1. */
export interface Tint {
  readonly hue: number;
  readonly saturation: number;
}

/** Red, green and blue, 0..1. */
export type Colour = readonly [red: number, green: number, blue: number];

export interface Palette {
  readonly ground: Colour;
  readonly accent: Colour;
}

/** WCAG's least contrast for text of any size. */
const CONTRAST_MIN = 4.5;
const HUES = 12;
/** A cover with less colour than this is grey. */
const COLOUR_MIN = 0.06;
const LIGHTNESS_STEP = 0.01;

/** `pixels` are red, green, blue and alpha, 0..255. Undefined for a cover without colours. */
export function tintIn(pixels: ArrayLike<number>): Tint | undefined {
  const weights = Array.from({ length: HUES }, () => 0);
  const sums = Array.from({ length: HUES }, () => ({ x: 0, y: 0, saturation: 0 }));
  for (let at = 0; at + 3 < pixels.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = [0, 1, 2].map((part) => (pixels[at + part] ?? 0) / 255);
    const { hue, saturation, chroma } = hueOf([red, green, blue]);
    const bin = Math.floor(hue / (360 / HUES)) % HUES;
    const sum = sums[bin];
    if (sum === undefined) continue;
    weights[bin] = (weights[bin] ?? 0) + chroma;
    sum.x += Math.cos((hue * Math.PI) / 180) * chroma;
    sum.y += Math.sin((hue * Math.PI) / 180) * chroma;
    sum.saturation += saturation * chroma;
  }
  const weight = Math.max(...weights);
  const sum = sums[weights.indexOf(weight)];
  if (sum === undefined || weight <= (COLOUR_MIN * pixels.length) / 4 / 2) return undefined;
  const hue = (Math.atan2(sum.y, sum.x) * 180) / Math.PI;
  return { hue: (hue + 360) % 360, saturation: sum.saturation / weight };
}

function hueOf([red, green, blue]: Colour) {
  const max = Math.max(red, green, blue);
  const chroma = max - Math.min(red, green, blue);
  const lightness = max - chroma / 2;
  const saturation = chroma === 0 ? 0 : chroma / (1 - Math.abs(2 * lightness - 1));
  if (chroma === 0) return { hue: 0, saturation, chroma };
  const sixth =
    max === red
      ? (green - blue) / chroma
      : max === green
        ? 2 + (blue - red) / chroma
        : 4 + (red - green) / chroma;
  return { hue: (sixth * 60 + 360) % 360, saturation, chroma };
}

function colourOf({ hue, saturation }: Tint, lightness: number): Colour {
  const amplitude = saturation * Math.min(lightness, 1 - lightness);
  const part = (shift: number): number => {
    const at = (shift + hue / 30) % 12;
    return lightness - amplitude * Math.max(-1, Math.min(at - 3, 9 - at, 1));
  };
  return [part(0), part(8), part(4)];
}

function luminanceOf(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** 1..21. */
export function contrastOf(one: Colour, other: Colour): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const grey = (part: number): Colour => [part / 255, part / 255, part / 255];

interface Scheme {
  /** Where the search for a colour that can be read begins, and which way it goes. */
  readonly ground: {
    readonly lightness: number;
    readonly saturation: number;
    readonly against: readonly Colour[];
  };
  readonly accent: { readonly lightness: number; readonly against: readonly Colour[] };
  readonly step: number;
}

/** `against` are the quiet text, the cards and the text on the accent in page.css, each a little worse. */
const SCHEMES: Readonly<Record<'light' | 'dark', Scheme>> = {
  light: {
    ground: { lightness: 0.85, saturation: 0.75, against: [grey(0x63)] },
    accent: { lightness: 0.42, against: [grey(0xea)] },
    step: LIGHTNESS_STEP,
  },
  dark: {
    ground: { lightness: 0.22, saturation: 0.55, against: [grey(0xa2)] },
    accent: { lightness: 0.6, against: [grey(0x2f), grey(0x24)] },
    step: -LIGHTNESS_STEP,
  },
};

/** The first colour of the tint, from this lightness on, that can be read beside all of these. */
function readable(tint: Tint, from: number, step: number, against: readonly Colour[]): Colour {
  let lightness = from;
  const isReadable = (): boolean =>
    against.every((other) => contrastOf(colourOf(tint, lightness), other) >= CONTRAST_MIN);
  while (!isReadable() && lightness > 0 && lightness < 1) lightness += step;
  return colourOf(tint, Math.min(1, Math.max(0, lightness)));
}

export function paletteOf(tint: Tint, scheme: 'light' | 'dark'): Palette {
  const { ground: pale, accent, step } = SCHEMES[scheme];
  const weak = { ...tint, saturation: tint.saturation * pale.saturation };
  const ground = readable(weak, pale.lightness, step, pale.against);
  const strong = { ...tint, saturation: Math.min(0.85, tint.saturation) };
  return { ground, accent: readable(strong, accent.lightness, -step, [ground, ...accent.against]) };
}

export function cssOf(colour: Colour): string {
  return `rgb(${colour.map((part) => Math.round(part * 255)).join(' ')})`;
}
