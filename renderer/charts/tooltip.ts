/** What the tooltips of all charts share. */
import type { ChartColors } from './css-colors.ts'

/** Drawn on the canvas, so that the text in it is never markup, in the colours of the theme. */
export function plainTooltip(c: Pick<ChartColors, 'surface' | 'line' | 'text'>) {
  return {
    renderMode: 'richText',
    backgroundColor: c.surface,
    borderColor: c.line,
    padding: [4, 8],
    textStyle: { color: c.text, fontSize: 11.5 },
  } as const
}
