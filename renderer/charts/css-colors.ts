/** The theme's colours as ECharts wants them: plain strings, read once per theme. */
import type { Theme } from '../state/theme.ts'

export interface ChartColors {
  readonly text: string
  readonly muted: string
  readonly line: string
  readonly surface: string
  readonly bar: string
  readonly second: string
  readonly loss: string
  readonly minus: string
  readonly selected: string
}

/** Kept in step with ui/theme.css by name. */
export function chartColors(_theme: Theme): ChartColors {
  const style = getComputedStyle(document.documentElement)
  const read = (name: string) => style.getPropertyValue(name).trim()
  return {
    text: read('--text'),
    muted: read('--muted'),
    line: read('--line'),
    surface: read('--surface'),
    bar: read('--weight'),
    second: read('--second'),
    loss: read('--loss'),
    minus: read('--minus'),
    selected: read('--select'),
  }
}
