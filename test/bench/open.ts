/**
 * From a checkpoint on disk (warm page cache) to its first logits, beside the forward itself, and the heap it takes.
 * Run: `node --expose-gc test/bench/open.ts [checkpoint]`; without one a random Llama of about 500 MB is made.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openModel } from '../../core/index.ts'
import { CLASS_100M, writeRandomLlama } from './random-llama.ts'
import { median } from './rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-bench-'))
try {
  const path = process.argv[2] ?? join(folder, 'llama')
  if (!process.argv[2]) writeRandomLlama(path, CLASS_100M)
  const ids = Array.from({ length: 64 }, (_, i) => (i * 37) % 1000)
  const rounds: { first: number; forward: number; beyond: number; grown: number }[] = []
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.()
    const heap = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
    const started = performance.now()
    const model = await openModel(path)
    await model.run(ids)
    const first = performance.now() - started
    globalThis.gc?.()
    const grown = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - heap
    const again = performance.now()
    await model.run(ids)
    const forward = performance.now() - again
    rounds.push({ first, forward, beyond: first - forward, grown })
    await model.close()
  }
  const of = (key: 'first' | 'forward' | 'beyond' | 'grown') =>
    Math.round(median(rounds.map((round) => round[key])))
  console.log(
    JSON.stringify({
      first_logits_ms: of('first'),
      forward_ms: of('forward'),
      beyond_forward_ms: of('beyond'),
      heap_growth_mb: Math.round(of('grown') / 1e5) / 10,
      resident_mb: Math.round(process.memoryUsage().rss / 1e6),
    }),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
