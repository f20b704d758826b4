import { expect, test } from 'vitest'
import { signedColor, signedInk, weightColor, weightInk } from './color.ts'

/** Contrast of two colours as WCAG 2 defines it. */
function contrast(a: string, b: string): number {
  const luminance = (css: string) => {
    const rgb = css.startsWith('#')
      ? [1, 2, 3].map((i) => Number.parseInt(css[i]! + css[i]!, 16))
      : css.match(/\d+/g)!.map(Number)
    const [r, g, bl] = rgb.map((c) =>
      c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
    )
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * bl!
  }
  const [x, y] = [luminance(a), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

test.each(['light', 'dark'] as const)('%s: text on any colour of a scale is read', (theme) => {
  for (let i = 0; i <= 100; i++) {
    expect(contrast(weightColor(theme, i / 100), weightInk(theme, i / 100))).toBeGreaterThan(4.5)
    const t = i / 50 - 1
    expect(contrast(signedColor(theme, t), signedInk(theme, t))).toBeGreaterThan(4.5)
  }
})
