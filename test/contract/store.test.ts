/** The store as its users see it. Numbers (S…) are the rules of core/store/SPEC.md. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Tensor } from '../../core/graph/tensor.ts'
import type { Prediction, Run } from '../../core/run/types.ts'
import { openStore, type Store } from '../../core/store/capture-store.ts'
import { defaultStorePath } from '../../core/store/default-path.ts'
import type { RunInfo } from '../../core/store/types.ts'
import { madePattern, madeProvenance, madeResidual, madeTokens } from '../support/store-made.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let next = 0
let store: Store
beforeEach(() => {
  store = openStore(join(folder, `${next++}.db`))
})
afterEach(() => store.close())

const pattern = 'blocks.0.attn.hook_pattern'
const edited = madeProvenance('c0ffee', [{ hook: 'blocks.0.attn.hook_z', op: 'zero' }])

/** Stores one pattern [batch, head, query, key] over items of the given lengths. */
function keep(tensor: Tensor, lengths: readonly number[], info: Partial<RunInfo> = {}): number {
  const items = lengths.map((length, i) => ({ ids: madeTokens(length, i) }))
  const writer = store.beginRun({ provenance: madeProvenance(), items, ...info })
  writer.write(pattern, tensor)
  return writer.complete()
}

/** A pattern of one item and one head. */
function head(rows: readonly (readonly number[])[]): Tensor {
  return {
    data: Float32Array.from(rows.flat()),
    shape: [1, 1, rows.length, rows[0]!.length],
    axes: ['batch', 'head', 'query', 'key'],
  }
}

describe('a run', () => {
  const positions: Prediction[] = [
    {
      top: [
        { id: 3, logit: 1.1, prob: 1 / 3 },
        { id: 0, logit: -0, prob: 1e-300 },
      ],
      loss: 0.1 + 0.2,
    },
    { top: [{ id: 5, logit: Number.NaN, prob: null }], loss: null },
  ]
  const tokens = [
    { id: 7, text: '<b>hi</b>', special: false, group: null },
    { id: 9, text: '<F0 9F>', special: true, group: 0 },
  ]

  it('comes back as it was given (S13)', () => {
    const resid = madeResidual([2], 5, 1)
    const writer = store.beginRun({
      provenance: edited,
      items: [{ ids: [7, 9], text: 'it’s', tokens }],
      spec: { n_layers: 1 },
      warnings: ['first'],
    })
    writer.write('blocks.0.hook_resid_pre', resid)
    const id = writer.complete({ items: [{ loss: 0.1 + 0.2, positions }], warnings: ['second'] })
    const run = store.run(id)
    expect(run).toMatchObject({
      id,
      provenance: edited,
      spec: { n_layers: 1 },
      warnings: ['first', 'second'],
      edits: 1,
      tokens: 2,
      text: 'it’s',
    })
    expect(run.itemList).toEqual([
      {
        prompt: expect.any(Number),
        ids: [7, 9],
        text: 'it’s',
        tokens,
        loss: 0.1 + 0.2,
        positions,
        source: null,
      },
    ])
    expect(store.residual(id, 0, 'blocks.0.hook_resid_pre')).toEqual({
      data: resid.data,
      shape: [2, 5],
      axes: ['pos', 'd_model'],
    })
    expect(store.listRuns()).toEqual([
      expect.objectContaining({
        id,
        model: '/models/made-up',
        modelName: 'made-up',
        bytes: store.runBytes(id),
      }),
    ])
    expect(store.checkpoints()).toEqual([
      expect.objectContaining({ contentHash: 'c0ffee', spec: { n_layers: 1 } }),
    ])
  })

  it('is saved whole by save(run) (S13)', () => {
    const captures = new Map([
      [pattern, madePattern([2, 2], 2, 1)],
      ['logits', { ...madeResidual([2, 2], 6, 2), axes: ['batch', 'pos', 'd_vocab'] } as Tensor],
    ])
    const run: Run = {
      items: [
        { ids: [1, 2], loss: 1, positions: [] },
        { ids: [3, 4], loss: null, positions: [] },
      ],
      provenance: madeProvenance(null),
      warnings: [],
      captured: [...captures.keys()],
      get: (hook) => captures.get(hook)!,
    }
    const id = store.save(run, { items: [{ text: 'a b' }] })
    expect(store.run(id)).toMatchObject({
      text: 'a b',
      items: 2,
      contentHash: null,
      hooks: [pattern, 'logits'],
    })
    expect(store.tensor(id, 1, 'logits')).toMatchObject({ shape: [2, 6], axes: ['pos', 'd_vocab'] })
    store.identify(id, 'beef')
    expect(store.run(id).contentHash).toBe('beef')
  })

  it('keeps each item’s own part of a padded batch (S12)', () => {
    const lengths = [5, 9, 1]
    const whole = madePattern(lengths, 3, 4)
    const scores: Tensor = {
      ...madePattern(lengths, 3, 5),
      data: whole.data.map((w) => (w === 0 ? Number.NEGATIVE_INFINITY : w)),
    }
    const z: Tensor = {
      data: Float32Array.from({ length: 3 * 9 * 2 * 4 }, (_, i) => i),
      shape: [3, 9, 2, 4],
      axes: ['batch', 'pos', 'head', 'd_head'],
    }
    const writer = store.beginRun({
      provenance: madeProvenance(),
      items: lengths.map((n, i) => ({ ids: madeTokens(n, i) })),
    })
    writer.write(pattern, whole)
    writer.write('blocks.0.attn.hook_attn_scores', scores)
    writer.write('blocks.0.attn.hook_z', z)
    const id = writer.complete()
    for (const [item, length] of lengths.entries()) {
      const all = store.tensor(id, item, pattern)
      expect(all.shape).toEqual([3, length, length])
      for (let h = 0; h < 3; h++)
        for (let q = 0; q < length; q++) {
          const at = ((item * 3 + h) * 9 + q) * 9
          const row = [...whole.data.subarray(at, at + length)]
          const read = (h * length + q) * length
          expect([...all.data.subarray(read, read + length)]).toEqual(row.map(Math.f16round))
          expect([
            ...store.tensor(id, item, 'blocks.0.attn.hook_attn_scores').data.subarray(read, read + length),
          ]).toEqual([...scores.data.subarray(at, at + length)])
        }
      expect(store.tensor(id, item, 'blocks.0.attn.hook_z').data).toEqual(
        z.data.slice(item * 72, item * 72 + length * 8),
      )
    }
  })

  it('keeps an encoder’s tokens beside the decoder’s (S12)', () => {
    const writer = store.beginRun({
      provenance: madeProvenance(),
      items: [{ ids: [1, 2], source: { ids: [4, 5, 6] } }],
    })
    const cross: Tensor = {
      data: Float32Array.of(0.1, 0.2, 0.7, 1, 0, 0),
      shape: [1, 1, 2, 3],
      axes: ['batch', 'head', 'query', 'key'],
    }
    const encoder = head([
      [0.5, 0.25, 0.25],
      [0, 1, 0],
      [0, 0, 1],
    ])
    writer.write('encoder.blocks.0.attn.hook_pattern', encoder)
    writer.write('decoder.blocks.0.cross_attn.hook_pattern', cross)
    const id = writer.complete()
    expect(store.run(id).itemList[0]!.source!.ids).toEqual([4, 5, 6])
    const bytes = store.patternBytes(id, 0, 'decoder.blocks.0.cross_attn.hook_pattern', 0)
    expect(bytes).toMatchObject({
      codec: 'full',
      shape: [2, 3],
      querySequence: 'main',
      keySequence: 'source',
    })
    expect(store.searchEdges({ query: [1], key: [6] }).examples).toMatchObject([
      { hook: 'decoder.blocks.*.cross_attn.hook_pattern', query: 0, key: 2 },
    ])
    expect(
      store.searchEdges({ query: [4], key: [6], hook: 'encoder.blocks.*.attn.hook_pattern' }).total,
    ).toBe(1)
  })

  it('is nowhere to be seen until it is complete (S8, S9)', () => {
    const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: [1, 2] }] })
    writer.write(
      pattern,
      head([
        [1, 0],
        [0.5, 0.5],
      ]),
    )
    expect(store.listRuns()).toEqual([])
    expect(() => store.run(writer.id)).toThrow(/not in this workspace/)
    expect(() => store.pattern(writer.id, 0, 0, 0)).toThrow(/not in this workspace/)
    expect(store.searchEdges({}).items).toBe(0)
    expect(store.searchEdges({ minWeight: 0.1 }).items).toBe(0)
    writer.complete()
    expect(store.searchEdges({}).total).toBe(3)
  })

  it('refuses what does not fit, and keeps nothing of it (S14)', () => {
    const begin = () =>
      store.beginRun({ provenance: madeProvenance(), items: [{ ids: [1, 2] }, { ids: [3] }] })
    expect(() => begin().write(pattern, head([[1]]))).toThrow(/run of 2 items/)
    expect(() => begin().write(pattern, madePattern([1, 1], 1, 1))).toThrow(/item 0 has 2 tokens/)
    const twice = begin()
    twice.write(pattern, madePattern([2, 1], 1, 1))
    expect(() => twice.write(pattern, madePattern([2, 1], 1, 1))).toThrow(/stored once/)
    expect(() => store.beginRun({ provenance: madeProvenance(), items: [{ ids: [] }] })).toThrow(
      /at least one token/,
    )
    twice.abort()
    expect(() => twice.complete()).toThrow(/aborted/)
    store.close()
    const db = new Database(store.path)
    for (const table of ['activation', 'edge_block', 'thumbnail', 'prediction', 'run_item'])
      expect(
        db.prepare(`SELECT count(*) FROM ${table} WHERE run NOT IN (SELECT id FROM run)`).pluck().get(),
      ).toBe(0)
    expect(db.prepare('SELECT count(*) FROM activation').pluck().get()).toBe(0)
    db.close()
  })

  it('goes with all it held, and its id is never given again (S15, S16)', () => {
    const first = keep(madePattern([4], 2, 1), [4])
    const second = keep(madePattern([4], 2, 2), [4])
    expect(store.listPrompts()).toHaveLength(1)
    const prompt = store.listPrompts()[0]!.id
    expect(() => store.deletePrompt(prompt)).toThrow(/used by 2 runs/)
    store.deleteRun(second)
    expect(() => store.deleteRun(second)).toThrow(/not in this workspace/)
    expect(keep(madePattern([4], 2, 2), [4])).toBeGreaterThan(second)
    store.deleteRun(first)
    store.deleteRun(second + 1)
    const before = store.totalBytes()
    store.compact()
    expect(store.totalBytes()).toBeLessThanOrEqual(before)
    expect(store.checkpoints()).toHaveLength(1)
    store.deletePrompt(prompt)
    expect(store.listPrompts()).toEqual([])
    expect(store.savePrompt({ ids: [1, 2], text: 'kept' })).toBeGreaterThan(0)
  })
})

describe('patterns', () => {
  it('take at most 2.05 bytes per causal entry, edges and thumbnails included (S20)', () => {
    const id = keep(madePattern([256], 12, 1), [256])
    const entries = 12 * ((256 * 257) / 2)
    expect(store.runBytes(id) / entries).toBeLessThanOrEqual(2.05)
    expect(store.patternBytes(id, 0, 0, 11).bytes.byteLength).toBe(256 * 257)
  })

  it('fill the pages of the file: 2.05 bytes per causal entry of even patterns there too (S20)', () => {
    const before = store.totalBytes()
    const writer = store.beginRun({ provenance: madeProvenance(), items: [{ ids: madeTokens(256, 0) }] })
    const even = madePattern([256], 12, 1, 'even')
    for (let layer = 0; layer < 6; layer++) writer.write(`blocks.${layer}.attn.hook_pattern`, even)
    writer.complete()
    const entries = 6 * 12 * ((256 * 257) / 2)
    expect((store.totalBytes() - before) / entries).toBeLessThanOrEqual(2.05)
  })

  it('are kept as float32 when asked for, and when float16 cannot hold them (S17, S18)', () => {
    const exact = madePattern([6], 1, 3)
    const id = keep(exact, [6], { dtype: 'f32' })
    expect(store.pattern(id, 0, 0, 0).data).toEqual(exact.data)
    for (const large of [70000, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]) {
      const edit = keep(
        head([
          [large, 0],
          [-2, 0.5],
        ]),
        [2],
      )
      expect(store.patternBytes(edit, 0, 0, 0).dtype).toBe('f32')
      expect([...store.pattern(edit, 0, 0, 0).data]).toEqual([large, 0, -2, 0.5])
      expect(store.searchEdges({ run: edit }).total).toBe(1) // S22: only 0.5 is an edge
    }
  })

  it('never change: what a read returns is the caller’s own (S21)', () => {
    const id = keep(madePattern([8], 2, 1), [8])
    const first = store.pattern(id, 0, 0, 1)
    const bytes = Buffer.from(store.patternBytes(id, 0, 0, 1).bytes)
    store.patternBytes(id, 0, 0, 1).bytes.fill(7)
    store.thumbnails(id, 0).data.fill(7)
    for (let q = 0; q < 8; q++) first.data[q * 8] = 0 // a reader that hides BOS
    expect(bytes.equals(store.patternBytes(id, 0, 0, 1).bytes)).toBe(true)
    expect(store.pattern(id, 0, 0, 1).data[0]).toBe(1)
  })

  it('name what is missing', () => {
    const id = keep(madePattern([3], 2, 1), [3])
    expect(() => store.pattern(id, 0, 1, 0)).toThrow(`Run ${id} holds no pattern of L1H0`)
    expect(() => store.pattern(id, 0, 0, 2)).toThrow(/L0H2/)
    expect(() => store.residual(id, 0, 'blocks.0.hook_resid_pre')).toThrow(/holds no blocks.0.hook_resid_pre/)
    expect(() => store.residual(id, 0, pattern)).toThrow(/residual has/)
  })
})

describe('thumbnails', () => {
  it('hold the largest weight of every cell, whatever T is (S25)', () => {
    for (const T of [1, 3, 31, 32, 33, 70]) {
      const tensor = madePattern([T], 2, T, 'sharp')
      const id = keep(tensor, [T])
      const small = store.thumbnails(id, 0)
      expect(small).toMatchObject({ layers: [0], heads: 2, side: 32, hook: 'blocks.*.attn.hook_pattern' })
      const side = Math.min(T, 32)
      for (let h = 0; h < 2; h++)
        for (let i = 0; i < 32; i++)
          for (let j = 0; j < 32; j++) {
            let largest = 0
            const [r, c] = [Math.floor((i * side) / 32), Math.floor((j * side) / 32)]
            for (let q = 0; q < T; q++)
              for (let k = 0; k < T; k++)
                if (Math.floor((q * side) / T) === r && Math.floor((k * side) / T) === c)
                  largest = Math.max(largest, Math.f16round(tensor.data[(h * T + q) * T + k]!))
            if (small.data[(h * 32 + i) * 32 + j] !== Math.min(255, Math.round(255 * largest)))
              throw new Error(`T ${T}, ${h} ${i} ${j}`)
          }
    }
  })

  it('are squares where a head looks both ways (S25)', () => {
    const id = keep(
      head([
        [0, 1],
        [1, 0],
      ]),
      [2],
    )
    const { data } = store.thumbnails(id, 0)
    expect([data[0], data[31], data[31 * 32], data[1023]]).toEqual([0, 255, 255, 0])
  })
})

describe('edge search', () => {
  it('finds every weight of 0.2 or more, and nothing else (S22)', () => {
    const below = 0.19985 // rounds to the float16 below that of 0.2
    const id = keep(
      head([
        [1, 0, 0],
        [0.2, 0.8, 0],
        [below, 0.6001, 0.2],
      ]),
      [3],
    )
    const found = store.searchEdges({ run: id })
    expect(found).toMatchObject({ source: 'edges', items: 1, total: 5 })
    expect(found.examples.map((e) => [e.query, e.key])).toEqual([
      [0, 0],
      [1, 1],
      [2, 1],
      [1, 0],
      [2, 2],
    ])
    expect(found.heads).toMatchObject([
      { contentHash: 'c0ffee', layer: 0, head: 0, count: 5, items: 1, largest: 1 },
    ])
  })

  it('agrees with a plain search of the patterns at any threshold (S23)', () => {
    const lengths = [40, 23, 31]
    const id = keep(madePattern(lengths, 4, 9, 'sharp'), lengths)
    for (const minWeight of [0.05, 0.1999, 0.2, 0.37, 0.5, 0.9]) {
      for (const [query, key] of [
        [undefined, undefined],
        [[0], undefined],
        [undefined, [1, 2]],
        [
          [0, 3, 5],
          [0, 1],
        ],
      ] as const) {
        let total = 0
        for (const [item, length] of lengths.entries())
          for (let h = 0; h < 4; h++) {
            const ids = store.run(id).itemList[item]!.ids
            store.pattern(id, item, 0, h).data.forEach((w, i) => {
              const [q, k] = [Math.floor(i / length), i % length]
              if (
                w >= Math.f16round(minWeight) &&
                (query?.includes(ids[q]! as never) ?? true) &&
                (key?.includes(ids[k]! as never) ?? true)
              )
                total++
            })
          }
        const found = store.searchEdges({ minWeight, ...(query && { query }), ...(key && { key }) })
        expect(found.total).toBe(total)
        expect(found.source).toBe(minWeight < 0.2 ? 'patterns' : 'edges')
        expect(found.heads.reduce((sum, h) => sum + h.count, 0)).toBe(total)
      }
    }
  })

  it('keeps to a head, a model, clean runs (S24)', () => {
    const clean = keep(madePattern([8], 2, 1, 'sharp'), [8])
    keep(madePattern([8], 2, 1, 'sharp'), [8], { provenance: edited })
    keep(madePattern([8], 2, 1, 'sharp'), [8], { provenance: madeProvenance('other') })
    const all = store.searchEdges({ run: clean, limit: 1000 })
    expect(store.searchEdges({ limit: 0 }).total).toBe(2 * all.total)
    expect(store.searchEdges({ edited: true, limit: 0 }).total).toBe(3 * all.total)
    expect(store.searchEdges({ contentHash: 'other', limit: 0 })).toMatchObject({
      items: 1,
      total: all.total,
    })
    const one = store.searchEdges({ run: clean, head: 1, layer: 0, limit: 3 })
    expect(one.total).toBe(all.heads.find((h) => h.head === 1)!.count)
    expect(one.examples).toEqual(all.examples.filter((e) => e.head === 1).slice(0, 3))
    expect(store.searchEdges({ layer: 4 }).total).toBe(0)
    expect(() => store.searchEdges({ minWeight: Number.NaN })).toThrow(/not a weight/)
  })

  it('keeps positions beyond 256 and beyond 65,536 (S22)', () => {
    for (const T of [257, 300]) {
      const data = new Float32Array(T * T)
      data[(T - 1) * T + 256] = 0.75
      const id = keep({ data, shape: [1, 1, T, T], axes: ['batch', 'head', 'query', 'key'] }, [T])
      expect(store.searchEdges({ run: id }).examples).toMatchObject([
        { query: T - 1, key: 256, weight: 0.75 },
      ])
    }
    const keys = 65_540
    const data = new Float32Array(2 * keys)
    data[keys + keys - 1] = 0.5
    const writer = store.beginRun({
      provenance: madeProvenance(),
      items: [{ ids: [1, 2], source: { ids: new Array(keys).fill(3) } }],
    })
    writer.write('decoder.blocks.0.cross_attn.hook_pattern', {
      data,
      shape: [1, 1, 2, keys],
      axes: ['batch', 'head', 'query', 'key'],
    })
    const found = store.searchEdges({ run: writer.complete(), key: [3] })
    expect(found.examples).toMatchObject([{ query: 1, key: keys - 1, weight: 0.5 }])
  })
})

describe('scans', () => {
  it('come back number for number (S26)', () => {
    const score = { value: 0.1 + 0.2, n: 32, rows: 1536, low: 0.1, high: 1 / 3 }
    const blank = { value: null, n: 3, rows: 9, low: null, high: null, why: 'n = 3, needs 5' }
    const scan = {
      definitions: { induction: 'text', first_token_sink: 'more' },
      settings: { scores: ['induction', 'first_token_sink'], length: 48, batch: 32, seed: null, bos: true },
      heads: [
        { layer: 0, head: 0, scores: { induction: score, first_token_sink: blank } },
        { layer: 0, head: 1, scores: { induction: blank, first_token_sink: score } },
        { layer: 10, head: 0, scores: { induction: score, first_token_sink: score } },
      ],
      loss: { first: 5.5, second: null },
      warnings: ['w'],
    }
    const checkpoint = { contentHash: 'abc', path: '/m', name: 'm', family: 'gpt2' }
    expect(store.latestScan('abc')).toBeNull()
    store.saveScan(checkpoint, { ...scan, warnings: [] })
    const id = store.saveScan(checkpoint, scan)
    const { created: _, ...back } = store.latestScan('abc')!
    expect(back).toEqual({ ...scan, id, contentHash: 'abc' })
    expect(Object.keys(back.heads[1]!.scores)).toEqual(['induction', 'first_token_sink'])
  })
})

it('a store that was closed says so', () => {
  store.close()
  expect(() => store.listRuns()).toThrow('this workspace was closed; open it again')
  expect(() => keep(madePattern([3], 1, 1), [3])).toThrow('this workspace was closed; open it again')
})

describe('a checkpoint', () => {
  it('keeps the path and the name under which it was seen first, while that path exists (S16)', () => {
    const at = (contentHash: string, name: string) => {
      store.saveCheckpoint({ contentHash, path: join(folder, name), name, family: 'gpt2' })
      return store.checkpoints().find((row) => row.contentHash === contentHash)!.name
    }
    for (const name of ['first', 'copy']) mkdirSync(join(folder, name))
    expect(at('abc', 'first')).toBe('first')
    expect(at('abc', 'copy')).toBe('first')
    rmSync(join(folder, 'first'), { recursive: true })
    expect(at('abc', 'copy')).toBe('copy')
    mkdirSync(join(folder, 'first'))
    expect(at('def', 'copy')).toBe('copy') // other weights, written over the first ones
    expect(at('abc', 'first')).toBe('first')
  })
})

describe('experiments', () => {
  it('keep numbered cells, each once, beyond the runs they came from (S27)', () => {
    const run = keep(madePattern([3], 1, 1), [3])
    const db = new Database(store.path)
    db.exec(
      `INSERT INTO experiment (kind, plan, plan_hash, cells, created) VALUES ('sweep', '{}', 'h', 2, 'now')`,
    )
    const cell = db.prepare(
      "INSERT INTO experiment_cell (experiment, cell, key, value, run) VALUES (1, ?, '{}', '1', ?)",
    )
    cell.run(0, run)
    expect(() => cell.run(0, run)).toThrow(/UNIQUE/)
    store.deleteRun(run)
    expect(db.prepare('SELECT cell, value, run FROM experiment_cell').all()).toEqual([
      { cell: 0, value: '1', run: null },
    ])
    db.close()
  })
})

describe('the default workspace', () => {
  it('lies in the platform’s data folder, or where HEADSCOPE_DATA says', () => {
    expect(defaultStorePath({ HEADSCOPE_DATA: '/d' }, 'linux')).toBe(join('/d', 'workspace.db'))
    expect(defaultStorePath({ XDG_DATA_HOME: '/x' }, 'linux')).toBe(join('/x', 'headscope', 'workspace.db'))
    expect(defaultStorePath({}, 'darwin')).toMatch(/Library\/Application Support\/Headscope\/workspace.db$/)
    expect(defaultStorePath({ LOCALAPPDATA: '/l' }, 'win32')).toBe(join('/l', 'Headscope', 'workspace.db'))
  })
})
