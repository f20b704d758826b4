/**
 * What is changed in the head on the bench, as tab settings in the address. In: texts. Out: a part of the request, or
 * nothing when nothing is changed. Pure.
 */
import type { TypedCell } from '../../../core/analysis/first-principles/index.ts'
import type { BenchEditRequest } from '../../../core/api/contract.ts'

export type Changes = Pick<BenchEditRequest, 'noMask' | 'noScale' | 'temperature' | 'cells'>

/** The step whose numbers the score field types, and which the address does not name. */
export const SCORES = 'masked scores'

/** Steps whose rows and columns both are tokens. */
const SQUARE = /scores$|^weights$/

/** Steps whose rows are the source's, where a head looks at one. */
const KEY_STEPS: ReadonlySet<string> = new Set(['memory', 'key', 'value'])

export function isKeyStep(step: string, cross: boolean): boolean {
  return cross && KEY_STEPS.has(step)
}

/**
 * `5.3=1.25 weights:6.0=0.9 weighted_values:2.7=-4`: step (masked scores when it is not said), row, column, value; what
 * is not one, or lies outside a text of `length` tokens (`source`: of the source that a head looks at), is left out.
 */
export function parseTyped(text: string, length: number, source: number | null = null): TypedCell[] {
  return text.split(' ').flatMap((part) => {
    const match = /^(?:([a-z_]{1,40}):)?(\d{1,6})\.(\d{1,6})=(-?[\d.]+(?:e-?\d+)?)$/i.exec(part)
    if (!match) return []
    const step = match[1]?.replaceAll('_', ' ') ?? SCORES
    const [row, column, value] = [Number(match[2]), Number(match[3]), Number(match[4])]
    const rows = isKeyStep(step, source !== null) ? source! : length
    const inside = row < rows && (!SQUARE.test(step) || column < (source ?? length))
    return inside && Number.isFinite(value) ? [{ step, row, column, value }] : []
  })
}

export function formatTyped(typed: readonly TypedCell[]): string {
  return typed
    .map(({ step, row, column, value }) => {
      const name = step === SCORES ? '' : `${step.replaceAll(' ', '_')}:`
      return `${name}${row}.${column}=${value}`
    })
    .join(' ')
}

/** One more typed number; the same cell again replaces it. */
export function withCell(typed: readonly TypedCell[], cell: TypedCell): TypedCell[] {
  return [...withoutCell(typed, cell), cell]
}

export function withoutCell(typed: readonly TypedCell[], at: Omit<TypedCell, 'value'>): TypedCell[] {
  return typed.filter((one) => one.step !== at.step || one.row !== at.row || one.column !== at.column)
}

/** The changes that act, or null when the head runs as it is. */
export function changesOf(
  tool: Readonly<Record<string, string>>,
  length: number,
  source: number | null = null,
): Changes | null {
  const temperature = Number(tool.bench_tau || 1)
  const cells = parseTyped(tool.bench_typed ?? '', length, source)
  const changes: Changes = {
    ...(tool.bench_mask === 'off' && source === null ? { noMask: true } : {}),
    ...(tool.bench_scale === 'off' ? { noScale: true } : {}),
    ...(Number.isFinite(temperature) && temperature > 0 && temperature !== 1 ? { temperature } : {}),
    ...(cells.length > 0 ? { cells } : {}),
  }
  return Object.keys(changes).length > 0 ? changes : null
}
