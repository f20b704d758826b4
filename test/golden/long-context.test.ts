/** Patterns of long prompts: streamed summaries equal those of whole patterns; 8,192 tokens stay within memory. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { estimateRun, type Model, openModel, refuseUnlessFits, summarisePatterns } from '../../core/index.ts'
import { writeRandomLlama } from '../bench/random-llama.ts'

const SIZE = { layers: 4, heads: 8, kvHeads: 4, width: 64, mlp: 128, vocab: 256, positions: 8192 }

describe('a small rotary model', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-long-'))
  let model: Model
  beforeAll(async () => {
    writeRandomLlama(folder, SIZE)
    model = await openModel(folder, { scoreBudget: 8 * 40 * 96 * 4 })
  })
  afterAll(async () => {
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('streamed summaries equal those of the whole pattern', async () => {
    const ids = Array.from({ length: 96 }, (_, i) => (i * 37) % 256)
    const { heads } = await summarisePatterns(model, ids, { distances: 8, edgesPerRow: 3 })
    const run = await model.run(ids, { capture: ['*attn.hook_pattern'], top: 0 })
    expect(heads).toHaveLength(32)
    for (const { layer, head, entropy, sink, byDistance, edgeKeys, edgeWeights } of heads) {
      const { data } = run.get(`blocks.${layer}.attn.hook_pattern`)
      const at = (query: number, key: number) => data[(head * 96 + query) * 96 + key]!
      let [sumEntropy, sumSink] = [0, 0]
      const sums = new Array<number>(8).fill(0)
      for (let query = 0; query < 96; query++) {
        const row = Array.from({ length: query + 1 }, (_, key) => at(query, key))
        sumEntropy -= row.reduce((sum, weight) => sum + (weight > 0 ? weight * Math.log(weight) : 0), 0)
        sumSink += row[0]!
        for (let d = 0; d < 8 && d <= query; d++) sums[d]! += at(query, query - d)
        const best = [...row.keys()].sort((a, b) => row[b]! - row[a]!).slice(0, 3)
        best.forEach((key, rank) => {
          expect(edgeKeys[query * 3 + rank]).toBe(key)
          expect(edgeWeights[query * 3 + rank]).toBeCloseTo(row[key]!, 5)
        })
        if (query < 2) expect(edgeKeys[query * 3 + 2]).toBe(-1)
      }
      expect(entropy).toBeCloseTo(sumEntropy / 96, 5)
      expect(sink).toBeCloseTo(sumSink / 96, 5)
      byDistance.forEach((value, d) => {
        expect(value).toBeCloseTo(sums[d]! / (96 - d), 5)
      })
    }
  })

  test('an estimate grows with the tokens, and what cannot fit is refused with numbers', async () => {
    const [small, large] = [await estimateRun(model, 512, 'summary'), await estimateRun(model, 8192, 'full')]
    expect(large.seconds).toBeGreaterThan(small.seconds)
    expect(large.diskBytes).toBeGreaterThan(8 * 4 * 8192 * 8192)
    expect(() => refuseUnlessFits(large, folder, 1e9)).toThrow(
      /8192 tokens would take about \d\.\d GB of memory.*1\.0 GB are free/,
    )
    expect(() => refuseUnlessFits(small, folder, 8e9)).not.toThrow()
  })

  test('8,192 tokens, 4 layers × 8 heads: under 1.5 GB', () => {
    const script = join(import.meta.dirname, '..', 'support', 'long-context-run.ts')
    const report = JSON.parse(execFileSync(process.execPath, [script, folder, '8192'], { encoding: 'utf8' }))
    expect(report.heads).toBe(32)
    expect(report.rows).toBe(8192)
    expect(report.peakBytes).toBeLessThan(1.5e9)
    expect(report.peakBytes - report.weightBytes).toBeLessThan(1.2 * report.estimate)
  }, 240_000)
})
