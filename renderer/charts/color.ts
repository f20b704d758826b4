/**
 * The colours of a weight, 0 to 1, and of a signed value, -1 to 1. Light: white to blue; dark: near-black to light blue. Strength is the weight and the
 * hue says nothing; the ramps rise evenly in lightness, so that they read the same with any colour vision.
 */
import type { Theme } from '../state/theme.ts'

export const LEVELS = 512

type Rgb = readonly [number, number, number]

const STOPS: Record<Theme, readonly Rgb[]> = {
  light: [
    [255, 255, 255],
    [214, 228, 250],
    [150, 187, 240],
    [78, 134, 221],
    [27, 79, 176],
    [8, 38, 98],
  ],
  dark: [
    [11, 15, 21],
    [18, 38, 72],
    [27, 70, 136],
    [48, 117, 206],
    [120, 179, 248],
    [221, 237, 255],
  ],
}

function at(theme: Theme, t: number): Rgb {
  const stops = STOPS[theme]
  const x = Math.min(1, Math.max(0, t)) * (stops.length - 1)
  const i = Math.min(stops.length - 2, Math.floor(x))
  const [a, b] = [stops[i]!, stops[i + 1]!]
  const mix = (c: 0 | 1 | 2) => Math.round(a[c] + (b[c] - a[c]) * (x - i))
  return [mix(0), mix(1), mix(2)]
}

/** CSS colour of a weight. */
export function weightColor(theme: Theme, t: number): string {
  return `rgb(${at(theme, t).join(' ')})`
}

/** The colour of text on that of a weight: of white and black the one with more contrast, 4.5 or more on any. */
export function weightInk(theme: Theme, t: number): string {
  return inkOn(at(theme, t))
}

/** Relative luminance as WCAG 2 has it: at 0.179 white and black are equally far. */
function inkOn(rgb: Rgb): string {
  const [r, g, b] = rgb.map((c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! < 0.179 ? '#fff' : '#000'
}

const LEFT_OUT: Record<Theme, Rgb> = { light: [235, 231, 224], dark: [43, 39, 33] }

/** CSS colour of a cell that exists and is left out. */
export function leftOutColor(theme: Theme): string {
  return `rgb(${LEFT_OUT[theme].join(' ')})`
}

/** The same as one of ImageData's words. */
export function leftOutPixel(theme: Theme): number {
  return word(LEFT_OUT[theme])
}

function word([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0
}

/** Pixels (as ImageData's 32-bit words, little-endian) of LEVELS weights. */
export function rampPixels(theme: Theme): Uint32Array {
  return (ramps[theme] ??= Uint32Array.from({ length: LEVELS }, (_, i) => word(at(theme, i / (LEVELS - 1)))))
}
const ramps: Partial<Record<Theme, Uint32Array>> = {}

/** A CSS gradient for a legend. */
export function rampGradient(theme: Theme): string {
  const parts = Array.from({ length: 11 }, (_, i) => `${weightColor(theme, i / 10)} ${i * 10}%`)
  return `linear-gradient(to right, ${parts.join(', ')})`
}

/** Where a weight stands on the ramp: linear, or log from 0.0001 to 1. */
export function rampPosition(weight: number, log: boolean): number {
  if (!log) return weight
  return weight <= 0 ? 0 : Math.max(0, 1 + Math.log10(weight) / 4)
}

const SIGNED: Record<Theme, { readonly minus: readonly Rgb[]; readonly plus: readonly Rgb[] }> = {
  light: {
    minus: [
      [255, 255, 255],
      [249, 208, 196],
      [235, 140, 116],
      [202, 67, 51],
      [122, 16, 22],
    ],
    plus: [
      [255, 255, 255],
      [200, 219, 247],
      [120, 166, 232],
      [49, 104, 199],
      [8, 38, 98],
    ],
  },
  dark: {
    minus: [
      [16, 19, 25],
      [74, 29, 25],
      [150, 50, 40],
      [222, 106, 82],
      [255, 214, 200],
    ],
    plus: [
      [16, 19, 25],
      [22, 46, 92],
      [36, 88, 168],
      [87, 154, 236],
      [214, 233, 255],
    ],
  },
}

/** Colour of a signed value, -1 to 1: red below 0, blue above, white (dark: near-black) at 0. */
function signedAt(theme: Theme, t: number): Rgb {
  const stops = t < 0 ? SIGNED[theme].minus : SIGNED[theme].plus
  const x = Math.min(1, Math.abs(t)) * (stops.length - 1)
  const i = Math.min(stops.length - 2, Math.floor(x))
  const [a, b] = [stops[i]!, stops[i + 1]!]
  const mix = (c: 0 | 1 | 2) => Math.round(a[c] + (b[c] - a[c]) * (x - i))
  return [mix(0), mix(1), mix(2)]
}

/** CSS colour of a signed value, -1 to 1. */
export function signedColor(theme: Theme, t: number): string {
  return `rgb(${signedAt(theme, t).join(' ')})`
}

/** The colour of text on that of a signed value. */
export function signedInk(theme: Theme, t: number): string {
  return inkOn(signedAt(theme, t))
}

/** Pixels of 2 × LEVELS - 1 signed values from -1 to 1; the middle one is 0. */
export function signedPixels(theme: Theme): Uint32Array {
  return (signedRamps[theme] ??= Uint32Array.from({ length: 2 * LEVELS - 1 }, (_, i) =>
    word(signedAt(theme, (i - (LEVELS - 1)) / (LEVELS - 1))),
  ))
}
const signedRamps: Partial<Record<Theme, Uint32Array>> = {}

/** A CSS gradient for a signed legend, from - to +. */
export function signedGradient(theme: Theme): string {
  const parts = Array.from({ length: 21 }, (_, i) => `${signedColor(theme, (i - 10) / 10)} ${i * 5}%`)
  return `linear-gradient(to right, ${parts.join(', ')})`
}
