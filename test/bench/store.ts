/**
 * What the store costs, on captures made up here. Run: `node test/bench/store.ts [folder]`.
 * Prints one JSON document: writing a T = 256 capture of 12 × 12 heads, reading a T = 1024 pattern, and searching
 * the edges of 10,000 prompts of 64 tokens.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tensor } from '../../core/graph/tensor.ts'
import { openStore, type Store } from '../../core/store/capture-store.ts'
import { entriesOf } from '../../core/store/codec.ts'
import { madePattern, madeProvenance, madeResidual, madeTokens } from '../support/store-made.ts'

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'headscope-bench-'))
try {
  const report = {
    write: benchWrite('even'),
    write_sharp: benchWrite('sharp'),
    read: benchRead(),
    search: benchSearch(),
  }
  console.log(JSON.stringify(report, null, 2))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function benchWrite(kind: 'even' | 'sharp') {
  const store = openStore(join(folder, `write-${kind}.db`))
  const patterns = Array.from({ length: 12 }, (_, layer) => madePattern([256], 12, layer, kind))
  const residual = madeResidual([256], 768, 1)
  const times: number[] = []
  const edges: number[] = []
  for (let i = 0; i < 7; i++) {
    const begun = performance.now()
    const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: madeTokens(256, i) }] })
    for (let layer = 0; layer < 12; layer++) {
      writer.write(`blocks.${layer}.hook_resid_pre`, residual)
      writer.write(`blocks.${layer}.attn.hook_pattern`, patterns[layer]!)
    }
    writer.write('blocks.11.hook_resid_post', residual)
    writer.complete()
    times.push(performance.now() - begun)
    edges.push(store.searchEdges({ run: writer.id, limit: 0 }).total)
  }
  const bytes = store.runBytes(1)
  store.close()
  const file = fileBytes(`write-${kind}.db`) / 7
  const entries = 144 * entriesOf({ codec: 'tri', queries: 256, keys: 256, band: null })
  const residuals = 13 * 256 * 768 * 4
  return {
    ms: round(median(times)),
    ms_first: round(times[0]!),
    edges: edges[0],
    bytes,
    bytes_per_entry: round((bytes - residuals) / entries, 4),
    file_bytes_per_entry: round((file - residuals) / entries, 4),
  }
}

function benchRead() {
  const store = openStore(join(folder, 'read.db'))
  const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: madeTokens(1024, 1) }] })
  for (let layer = 0; layer < 4; layer++)
    writer.write(`blocks.${layer}.attn.hook_pattern`, madePattern([1024], 8, layer, 'sharp'))
  const id = writer.complete()
  const raw: number[] = []
  const decoded: number[] = []
  for (let i = 0; i < 200; i++) {
    raw.push(timed(() => store.patternBytes(id, 0, i % 4, i % 8)))
    decoded.push(timed(() => store.pattern(id, 0, i % 4, i % 8)))
  }
  const thumbnails = timed(() => store.thumbnails(id, 0))
  store.close()
  return {
    blob_ms_p95: round(p95(raw)),
    decoded_ms_p95: round(p95(decoded)),
    thumbnails_ms: round(thumbnails),
  }
}

function benchSearch() {
  const path = join(folder, 'search.db')
  let store: Store = openStore(path)
  const shapes: Tensor[][] = Array.from({ length: 50 }, (_, i) =>
    [0, 1].map((layer) => madePattern([64], 8, 100 * i + layer, 'sharp')),
  )
  const begun = performance.now()
  for (let i = 0; i < 10_000; i++) {
    const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: madeTokens(64, i) }] })
    shapes[i % 50]!.forEach((pattern, layer) => {
      writer.write(`blocks.${layer}.attn.hook_pattern`, pattern)
    })
    writer.complete()
  }
  const seconds = (performance.now() - begun) / 1000
  store.close()
  const opening: number[] = []
  for (let i = 0; i < 5; i++) {
    opening.push(
      timed(() => {
        store = openStore(path)
      }),
    )
    store.close()
  }
  store = openStore(path, { readonly: true })
  const listing = timed(() => store.listRuns())
  const pairs: number[] = []
  const common: number[] = []
  for (let i = 0; i < 60; i++) {
    const [x, y] = [madeTokens(64, i)[40]!, madeTokens(64, i)[20]!]
    pairs.push(timed(() => store.searchEdges({ query: [x], key: [y] })))
  }
  for (let i = 0; i < 20; i++)
    common.push(timed(() => store.searchEdges(i % 2 ? { key: [i % 5] } : { query: [i % 5] })))
  const all = Array.from({ length: 5 }, () => timed(() => store.searchEdges({})))
  const total = store.searchEdges({ limit: 0 }).total
  store.close()
  return {
    write_seconds: round(seconds),
    file_mb: round(fileBytes('search.db') / 1e6),
    edges: total,
    pair_ms_p95: round(p95(pairs)),
    common_token_ms_p95: round(p95(common)),
    every_edge_ms: round(median(all)),
    open_ms: round(median(opening)),
    list_runs_ms: round(listing),
  }
}

// --- Internal helpers ---

function fileBytes(name: string): number {
  const store = openStore(join(folder, name), { readonly: true })
  const bytes = store.totalBytes()
  store.close()
  return bytes
}

function timed(work: () => unknown): number {
  const begun = performance.now()
  work()
  return performance.now() - begun
}

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b)
}

function median(numbers: readonly number[]): number {
  return sorted(numbers)[numbers.length >> 1]!
}

function p95(numbers: readonly number[]): number {
  return sorted(numbers)[Math.ceil(numbers.length * 0.95) - 1]!
}

function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits))
}
