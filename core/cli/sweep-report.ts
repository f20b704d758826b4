/** A sweep for a person: its ends, a small map of all cells, and the largest ones. In: a result. Out: lines. */
import type { ExperimentKind, Experiments } from '../api/contract.ts'
import type { TokenView } from '../checkpoint/types.ts'
import type { Output } from './output.ts'
import type { Style } from './style.ts'
import { printable, table } from './table.ts'

/** Rows of the table of largest cells. */
const SHOWN = 12
/** A map that is wider than this, in columns, is left out. */
const WIDEST = 64

/** One cell, whatever the sweep: where it is and how much it does. */
interface Shown {
  readonly layer: number | null
  readonly head: number | null
  readonly pos: number | null
  readonly name: string
  readonly value: number | null
  readonly effect: number | null
  readonly extra: readonly string[]
}

/** Prints a sweep. */
export function reportSweep<K extends ExperimentKind>(
  out: Output,
  kind: K,
  result: Experiments[K]['result'],
  prompts: readonly (readonly TokenView[])[],
): void {
  const { style } = out
  const tokens = prompts[0]!.map((view) => printable(view.text))
  out.line(style.dim(ends(result)))
  const { cells, effect, extra } = shownCells(kind, result, tokens)
  const map = heatmap(cells, style)
  if (map.length > 0) {
    out.line()
    for (const line of map) out.line(line)
  }
  const size = (cell: Shown) => Math.abs(cell.effect ?? cell.value ?? 0)
  const largest = [...cells].sort((a, b) => size(b) - size(a)).slice(0, SHOWN)
  const columns = [
    { title: 'place' },
    { title: kind === 'attribute' ? '' : 'metric', right: true },
    { title: effect, right: true },
    ...extra.map((title) => ({ title, right: true })),
  ]
  const rows = largest.map((cell) => [
    cell.name,
    kind === 'attribute' ? '' : number(cell.value),
    { text: number(cell.effect), paint: (text: string) => signed(style, text, cell.effect ?? 0) },
    ...cell.extra,
  ])
  out.line()
  for (const line of table(columns, rows, style.bold)) out.line(line)
  for (const why of reasonsOf(result)) out.line(style.dim(`– ${why}`))
  if (cells.length > SHOWN)
    out.line(style.dim(`the ${SHOWN} largest of ${cells.length} cells; --json has all`))
}

/** The result as a document has it: what does not exist is null with a reason beside it. */
export function sweepFields<K extends ExperimentKind>(kind: K, result: Experiments[K]['result']): object {
  if (kind === 'patch') {
    const { cells, ...rest } = result as Experiments['patch']['result']
    const why = 'the clean and the corrupt metric are too close to divide by their difference'
    return {
      ...rest,
      cells: cells.map((cell) => (cell.normalized === null ? { ...cell, why: cell.why ?? why } : cell)),
    }
  }
  if (kind !== 'attribute') return result
  const { trust, ...rest } = result as Experiments['attribute']['result']
  return { ...rest, trust, ...(trust === null ? { why: NO_TRUST } : {}) }
}

// --- Internal helpers ---

const NO_TRUST = 'trust needs three exact runs with different results: ask for them with --verify 3 or more'

/** Why cells have no value, each reason once. */
function reasonsOf({ cells }: Experiments[ExperimentKind]['result']): readonly string[] {
  return [...new Set(cells.flatMap((cell) => ('why' in cell && cell.why ? [cell.why] : [])))].slice(0, 5)
}

function ends(result: Experiments[ExperimentKind]['result']): string {
  if ('base' in result) return `metric of the unedited run ${number(result.base)}`
  const trust = 'trust' in result && result.trust ? result.trust : null
  const trusted = trust
    ? ` · estimate against exact: correlation ${trust.correlation.toFixed(3)} over ${trust.n} places`
    : ''
  return `metric: clean ${number(result.clean)}, corrupt ${number(result.corrupt)}${trusted}`
}

function shownCells(
  kind: ExperimentKind,
  result: Experiments[ExperimentKind]['result'],
  tokens: readonly string[],
): { cells: Shown[]; effect: string; extra: readonly string[] } {
  const nowhere = { layer: null, head: null, pos: null }
  const place = (cell: { layer: number; head?: number; pos?: number }, what = '') => {
    const head = cell.head === undefined ? '' : `H${cell.head}`
    const pos = cell.pos === undefined ? '' : ` pos ${cell.pos} ${tokens[cell.pos] ?? ''}`
    return {
      layer: cell.layer,
      head: cell.head ?? null,
      pos: cell.pos ?? null,
      name: `L${cell.layer}${head}${what}${pos}`,
    }
  }
  if (kind === 'ablate') {
    const { cells } = result as Experiments['ablate']['result']
    const direct = cells.some((cell) => cell.direct !== undefined)
    return {
      effect: 'delta',
      extra: direct ? ['direct'] : [],
      cells: cells.map((cell) => ({
        ...place(cell),
        value: cell.value,
        effect: cell.delta,
        extra: direct ? [number(cell.direct ?? null)] : [],
      })),
    }
  }
  if (kind === 'patch') {
    const { cells } = result as Experiments['patch']['result']
    return {
      effect: 'normalized',
      extra: [],
      cells: cells.map((cell) => ({
        ...place(cell),
        value: cell.value,
        effect: cell.normalized,
        extra: [],
      })),
    }
  }
  if (kind === 'path') {
    const { cells } = result as Experiments['path']['result']
    return {
      effect: 'delta',
      extra: [],
      cells: cells.map((cell) => ({
        ...nowhere,
        name: `${cell.from} → ${cell.to}`,
        value: cell.value,
        effect: cell.delta,
        extra: [],
      })),
    }
  }
  const { cells } = result as Experiments['attribute']['result']
  const exact = cells.some((cell) => cell.exact !== undefined)
  return {
    effect: 'estimate',
    extra: exact ? ['exact'] : [],
    cells: cells.map((cell) => ({
      ...place(cell, ` ${cell.site}`),
      value: null,
      effect: cell.estimate,
      extra: exact ? [cell.exact === undefined ? '' : number(cell.exact)] : [],
    })),
  }
}

const SHADES = ['·', '░', '▒', '▓', '█']

/** Layers down, heads or positions across: a sign and a shade, against the largest |effect|. */
function heatmap(cells: readonly Shown[], style: Style): string[] {
  const across = cells.every((cell) => cell.head !== null && cell.pos === null)
    ? 'head'
    : cells.every((cell) => cell.pos !== null && cell.head === null)
      ? 'pos'
      : null
  const largest = Math.max(...cells.map((cell) => Math.abs(cell.effect ?? 0)))
  if (across === null || !(largest > 0)) return []
  const count = Math.max(...cells.map((cell) => cell[across]!)) + 1
  if (count > WIDEST) return []
  const layers = [...new Set(cells.map((cell) => cell.layer!))].sort((a, b) => a - b)
  const rows = layers.map((layer) => {
    const line = Array.from({ length: count }, (_, i) => {
      const cell = cells.find((one) => one.layer === layer && one[across] === i)
      if (!cell) return '  '
      if (cell.effect === null) return ' ?'
      const shade = SHADES[Math.min(4, Math.ceil((4 * Math.abs(cell.effect)) / largest))]!
      if (shade === SHADES[0]) return style.dim(` ${shade}`)
      return signed(style, `${cell.effect < 0 ? '-' : '+'}${shade}`, cell.effect)
    })
    return `${style.dim(`L${layer}`.padStart(4))} ${line.join('')}`
  })
  const header = Array.from({ length: count }, (_, i) => (i % 5 === 0 ? String(i).padStart(2) : '  ')).join(
    '',
  )
  return [
    style.dim(`     ${header}  ${across === 'head' ? 'head' : 'position'}`),
    ...rows,
    style.dim(`     █ = ${number(largest)}, ░ up to a quarter of it`),
  ]
}

function signed(style: Style, text: string, value: number): string {
  if (value < 0) return style.red(text)
  return value > 0 ? style.weight(text, 0.9) : text
}

function number(value: number | null): string {
  if (value === null) return 'none'
  return Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(2)
    : value.toFixed(3)
}
