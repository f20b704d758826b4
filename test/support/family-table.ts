/**
 * The tables of measured errors in core/families/README.md. In: the largest error of each kind of tensor per reference
 * checkpoint, as the golden test measured them. Out: rows between two marks; written only when asked for.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const README = join(import.meta.dirname, '..', '..', 'core', 'families', 'README.md')

/** A table's place in the README. */
const marks = (table: string) => [`<!-- ${table}: begin -->`, `<!-- ${table}: end -->`] as const

const KINDS = ['logits', 'patterns', 'z', 'residuals', 'attention and MLP', 'ablations', 'patches'] as const
type Kind = (typeof KINDS)[number]

/** Largest error of each kind, of one checkpoint. */
type Row = Map<Kind, number>

/** What a tensor of a golden file is. */
function kindOf(name: string): Kind {
  if (/^(zero_ablation|knockout)/.test(name)) return 'ablations'
  if (/^(resample|patch)/.test(name)) return 'patches'
  if (name.endsWith('hook_pattern')) return 'patterns'
  if (name.endsWith('hook_z')) return 'z'
  if (/hook_((cross_)?attn|mlp)_out$/.test(name)) return 'attention and MLP'
  return name.includes('blocks.') ? 'residuals' : 'logits'
}

/** Largest errors of one set of checkpoints: measured one by one, then written or compared with what is written. */
export function errorTable(table: string) {
  const rows = new Map<string, { readonly family: string; readonly row: Row }>()
  return {
    /** Keeps an error, and gives it back. */
    add(checkpoint: string, family: string, tensor: string, error: number): number {
      const entry = rows.get(checkpoint) ?? { family, row: new Map<Kind, number>() }
      const kind = kindOf(tensor)
      entry.row.set(kind, Math.max(entry.row.get(kind) ?? 0, error))
      rows.set(checkpoint, entry)
      return error
    },
    /** Puts the table between its marks. */
    write(): void {
      const text = readFileSync(README, 'utf8')
      const [begin, end] = marks(table)
      const kinds = KINDS.filter((kind) => [...rows.values()].some(({ row }) => row.has(kind)))
      const cells = [...rows].map(([name, { family, row }]) => [
        `\`${name}\``,
        family,
        ...kinds.map((kind) => row.get(kind)?.toExponential(1) ?? ''),
      ])
      const lines = aligned([['checkpoint', 'family', ...kinds], ...cells])
      const before = text.slice(0, text.indexOf(begin))
      writeFileSync(README, `${before}${[begin, ...lines].join('\n')}\n${text.slice(text.indexOf(end))}`)
    },
    /** Names of the checkpoints that the README has a row for. */
    written(): string[] {
      const text = readFileSync(README, 'utf8')
      const [begin, end] = marks(table)
      const own = text.slice(text.indexOf(begin), text.indexOf(end))
      return Array.from(own.matchAll(/^\| `([^`]+)` *\|/gm), (match) => match[1]!)
    },
  }
}

// --- Internal helpers ---

/** Rows of a markdown table, its columns of one width, as the formatter would have it. */
function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  const [head, ...body] = table
  return [line(head!), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)]
}
