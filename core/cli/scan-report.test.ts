import { expect, it } from 'vitest'
import type { ScanResult } from '../analysis/types.ts'
import { createOutput, type Output } from './output.ts'
import { reportScan } from './scan-report.ts'
import { width } from './table.ts'

const names = ['induction', 'previous_token', 'duplicate_token', 'first_token_sink']
const score = { value: 0.5, n: 5, rows: 50, low: 0.4, high: 0.6 }
const scan: ScanResult = {
  definitions: {},
  settings: { scores: names, length: 8, batch: 5, seed: 1, bos: true },
  heads: [{ layer: 10, head: 11, scores: Object.fromEntries(names.map((name) => [name, score])) }],
  loss: { first: 7, second: 1 },
  warnings: [],
}

function linesAt(columns: number | null): string[] {
  const lines: string[] = []
  const out: Output = { ...createOutput(false), columns, line: (text = '') => void lines.push(text) }
  reportScan(out, scan)
  return lines
}

it('puts as many scores side by side as the terminal is wide, and all of them in a pipe', () => {
  const titles = (columns: number | null) => linesAt(columns).filter((line) => line.startsWith('head '))
  expect(titles(null)).toHaveLength(1)
  expect(titles(120)).toHaveLength(1)
  expect(titles(60)).toHaveLength(2)
  expect(titles(10)).toHaveLength(4)
  const rows = linesAt(60).filter((line) => line.startsWith('L10H11'))
  expect(Math.max(...rows.map(width))).toBeLessThanOrEqual(60)
})
