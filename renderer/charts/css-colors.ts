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

/** The light theme's colours for figures that leave the app, whatever the window shows. Kept in step with ui/theme.css. */
export const PAPER: ChartColors = {
  text: '#19212e',
  muted: '#5c677a',
  line: '#dde1e8',
  surface: '#ffffff',
  bar: '#4e86dd',
  second: '#53a79c',
  loss: '#8b5fb8',
  minus: '#ca4333',
  selected: '#d9730d',
}
