import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scanHeads } from '../analysis/scan.ts'
import { ablate } from '../intervene/ablate.ts'
import { attribute } from '../intervene/attribute.ts'
import { patch } from '../intervene/patch.ts'
import { pathPatch } from '../intervene/path.ts'
import { openModel } from '../run/model.ts'
import { openStore } from '../store/capture-store.ts'
import { readShard } from '../store/shard-store.ts'
import { mergeShards, type PlanModel, parsePlan, runShard } from './index.ts'

const MODELS = join(import.meta.dirname, '..', '..', 'models', 'induction-2l')
const models: PlanModel[] = [
  { name: 'induction-2l', at: null, path: MODELS },
  { name: 'series', at: 'step512', path: join(MODELS, 'checkpoints', 'step512') },
]
const A = [5, 9, 12, 40, 5, 9]
const B = [5, 9, 12, 40, 7, 9]
const PLAN = {
  models: ['induction-2l', 'series'],
  prompts: [{ ids: A, corrupt: { ids: B }, metric: { kind: 'logit_diff', answer: 12, wrong: 40 } }],
  tasks: [
    { task: 'scan', length: 12, batch: 4 },
    { task: 'ablate', over: 'positions' },
    { task: 'patch', site: 'resid_pre' },
  ],
}
const plan = parsePlan(PLAN)

let folder: string
const at = (name: string) => join(folder, name)
const bytes = (name: string) => readFileSync(at(name))

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-plan-'))
  await runShard(plan, models, at('one.db'))
  for (let k = 1; k <= 8; k++) await runShard(plan, models, at(`s${k}.db`), { shard: k, of: 8 })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shards = (...names: number[]) => names.map((k) => at(`s${k}.db`))
const ALL = [1, 2, 3, 4, 5, 6, 7, 8]

describe('shares of a plan', () => {
  it('joined are the file of one machine, byte for byte, in whatever order they are named (S34)', () => {
    expect(mergeShards(shards(...ALL), at('all.db'))).toMatchObject({ shards: 8, cells: 6 })
    mergeShards(shards(...ALL).reverse(), at('turned.db'))
    expect(bytes('all.db').equals(bytes('one.db'))).toBe(true)
    expect(bytes('turned.db').equals(bytes('one.db'))).toBe(true)
  })

  it('leave no other file behind', () => {
    expect(readdirSync(folder).filter((name) => !/^\w+\.db$/.test(name))).toEqual([])
  })

  it('take away what a killed process left beside them', async () => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid
    const left = [`tidy.db.draft-${dead}-0a0b0c0d-wal`, `tidy.db.new-${dead}-0a0b0c0d`]
    const others = [`tidy.db.new-${process.pid}-0a0b0c0d`, 'tidy.db.notes']
    for (const name of [...left, ...others]) writeFileSync(at(name), '')
    await runShard(plan, models, at('tidy.db'), { shard: 1, of: 8 })
    expect(left.filter((name) => existsSync(at(name)))).toEqual([])
    expect(others.filter((name) => existsSync(at(name)))).toEqual(others)
    for (const name of [...others, 'tidy.db']) rmSync(at(name))
  })

  it('run again are left as they are', async () => {
    const before = bytes('s2.db')
    expect(await runShard(plan, models, at('s2.db'), { shard: 2, of: 8 })).toMatchObject({ computed: 0 })
    expect(bytes('s2.db').equals(before)).toBe(true)
  })

  it('go on where they were cancelled, and end the same', async () => {
    const stop = new AbortController()
    const seen: string[] = []
    const first = runShard(plan, models, at('stopped.db'), {
      signal: stop.signal,
      onCell: ({ key }) => {
        seen.push(key)
        if (seen.length === 2) stop.abort()
      },
    })
    await expect(first).rejects.toMatchObject({ code: 'cancelled' })
    expect(() => mergeShards([at('stopped.db')], at('never.db'))).toThrow(/not complete \(2 cells so far\)/)
    expect(existsSync(at('never.db'))).toBe(false)
    expect(await runShard(plan, models, at('stopped.db'))).toMatchObject({ computed: 4 })
    expect(bytes('stopped.db').equals(bytes('one.db'))).toBe(true)
  })

  it('hold what the calls themselves give', async () => {
    const values = cellsOf('one.db')
    const model = await openModel(MODELS, { threads: 1 })
    try {
      expect(values[0]).toMatchObject({
        kind: 'scan',
        result: await scanHeads(model, { length: 12, batch: 4 }),
      })
      const metric = { kind: 'logit_diff', answer: 12, wrong: 40 } as const
      const ablated = await ablate(model, A, { over: 'positions', kind: 'zero', metric })
      expect(values[1]).toMatchObject({ kind: 'ablate', result: JSON.parse(JSON.stringify(ablated)) })
      const patched = await patch(model, A, B, { site: 'resid_pre', metric })
      expect(values[2]).toMatchObject({ kind: 'patch', result: JSON.parse(JSON.stringify(patched)) })
    } finally {
      await model.close()
    }
  })

  it('put scans where the app and SQL look for them', () => {
    const store = openStore(at('one.db'), { readonly: true })
    try {
      const [value] = cellsOf('one.db')
      const { id: _, created, contentHash, ...scan } = store.latestScan(value.checkpoint.contentHash)!
      expect(scan).toEqual(value.result)
      expect(contentHash).toBe(value.checkpoint.contentHash)
      expect(created).toBe('1970-01-01T00:00:00.000Z')
      expect(store.checkpoints()).toHaveLength(2)
    } finally {
      store.close()
    }
  })

  it('put sweeps among the experiments, as if the app had asked for them', () => {
    const store = openStore(at('one.db'), { readonly: true })
    try {
      const [, ablated] = cellsOf('one.db')
      const found = store.listExperiments(['ablate', 'patch']).reverse()
      expect(found.map(({ kind, complete }) => [kind, complete])).toEqual([
        ['ablate', true],
        ['patch', true],
        ['ablate', true],
        ['patch', true],
      ])
      const first = store.experiment(found[0]!.id)
      expect(first.cellList.map(({ value }) => value)).toEqual(ablated.result.cells)
      expect(first.result).toMatchObject({ base: ablated.result.base })
      expect(first.plan).toMatchObject({
        request: { model: MODELS, prompt: { ids: A }, over: 'positions', kind: 'zero' },
        prompts: [A.map((id) => expect.objectContaining({ id }))],
      })
    } finally {
      store.close()
    }
  })

  it('split by layers give the values of the whole sweep, as one experiment', async () => {
    const split = parsePlan({ ...PLAN, models: ['induction-2l'], largest_cell: 1 })
    await runShard(split, models.slice(0, 1), at('split.db'))
    const [, ablated] = cellsOf('one.db')
    // Cells of several layers share a batch, so a part rounds in other places than the whole.
    const near = (cells: { value: number; delta: number }[]) =>
      cells.map(({ value, delta, ...place }) => ({
        ...place,
        value: expect.closeTo(value, 4),
        delta: expect.closeTo(delta, 4),
      }))
    const parts = cellsOf('split.db').filter(({ kind }) => kind === 'ablate')
    expect(parts).toHaveLength(2)
    expect(parts.flatMap(({ result }) => result.cells)).toEqual(near(ablated.result.cells))
    for (const { result } of parts) expect(result.base).toBe(ablated.result.base)
    const store = openStore(at('split.db'), { readonly: true })
    try {
      const [patched, whole] = store.listExperiments(['ablate', 'patch'])
      expect([patched!.complete, whole!.complete]).toEqual([true, true])
      expect(store.experiment(whole!.id).cellList.map(({ value }) => value)).toEqual(
        parts.flatMap(({ result }) => result.cells),
      )
    } finally {
      store.close()
    }
  })

  it('keep a cell that cannot be as its reason, and finish the others', async () => {
    const odd = parsePlan({
      models: ['induction-2l'],
      prompts: [{ ids: A }, { ids: [999_999] }],
      tasks: [{ task: 'ablate' }],
    })
    const { failed } = await runShard(odd, models.slice(0, 1), at('odd.db'))
    expect(failed).toEqual([
      { key: 'induction-2l, ablate heads zero, prompt 1', why: expect.stringMatching(/999999/) },
    ])
    expect(cellsOf('odd.db').map(({ kind }) => kind)).toEqual(['ablate', 'failed'])
  })
})

describe('path, attribution and the decoder of an encoder–decoder', () => {
  const path = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'encoder-decoder', 't5-gated-untied')
  const both: PlanModel[] = [models[0]!, { name: 't5', at: null, path }]
  const decoder = (ids: number[]) => ({ ids: [7, 3, 12], decoder: { ids } })
  const tasks = [
    { task: 'path', from: ['L0H0', 'L0H1'], to: ['L1H0.q', 'L1H0.k'], mlps: 'freeze' },
    { task: 'attribute', sites: ['z', 'k'], verify: 3 },
    { task: 'ablate', over: 'cross_heads', kind: 'resample', reference: [decoder([0, 4, 6, 2])] },
    { task: 'patch', site: 'cross_z' },
  ]
  const metric = { kind: 'logit_diff', answer: 12, wrong: 40 }
  const wide = parsePlan({
    models: ['induction-2l', 't5'],
    prompts: [
      { ids: A, corrupt: { ids: B }, metric },
      { ...decoder([0, 9, 5, 2]), corrupt: decoder([0, 9, 8, 2]), metric: { ...metric, wrong: 4 } },
    ],
    tasks,
  })

  it('are cells like any other: shards joined are the file of one machine (S34)', async () => {
    const whole = await runShard(wide, both, at('wide.db'))
    for (let k = 1; k <= 3; k++) await runShard(wide, both, at(`wide${k}.db`), { shard: k, of: 3 })
    mergeShards(
      [2, 3, 1].map((k) => at(`wide${k}.db`)),
      at('wide-all.db'),
    )
    expect(bytes('wide-all.db').equals(bytes('wide.db'))).toBe(true)
    // A plain prompt says nothing to a decoder, nor a decoder's text to a model of one text.
    expect(whole.failed.map(({ key }) => key)).toEqual(
      expect.arrayContaining([
        'induction-2l, ablate cross_heads resample, prompt 0',
        'induction-2l, patch cross_z denoise, prompt 0',
      ]),
    )
  })

  it('hold what the calls themselves give', async () => {
    const model = await openModel(path, { threads: 1 })
    const reading = await model.reading([7, 3, 12])
    const own = { kind: 'logit_diff', answer: 12, wrong: 4 } as const
    const [clean, corrupt] = [
      [0, 9, 5, 2],
      [0, 9, 8, 2],
    ]
    const found = cellsOf('wide.db').filter(({ prompt, model: { name } }) => prompt === 1 && name === 't5')
    const results = [
      await pathPatch(reading, clean!, corrupt!, {
        from: ['L0H0', 'L0H1'],
        to: ['L1H0.q', 'L1H0.k'],
        mlps: 'freeze',
        metric: own,
      }),
      await attribute(reading, clean!, corrupt!, { sites: ['z', 'k'], verify: 3, metric: own }),
      await ablate(reading, clean!, {
        over: 'cross_heads',
        kind: 'resample',
        reference: [[0, 4, 6, 2]],
        metric: own,
      }),
      await patch(reading, clean!, corrupt!, { site: 'cross_z', metric: own }),
    ]
    expect(found.map(({ kind }) => kind)).toEqual(['path', 'attribute', 'ablate', 'patch'])
    found.forEach(({ result }, i) => {
      expect(result).toEqual(JSON.parse(JSON.stringify(results[i])))
    })
    await model.close()
  })

  it('killed anywhere and run again, end the same', async () => {
    for (const after of [1, 3]) {
      const stop = new AbortController()
      let seen = 0
      const name = at(`cut${after}.db`)
      const first = runShard(wide, both, name, {
        signal: stop.signal,
        onCell: () => {
          if (++seen === after) stop.abort()
        },
      })
      await expect(first).rejects.toMatchObject({ code: 'cancelled' })
      await runShard(wide, both, name)
      expect(bytes(`cut${after}.db`).equals(bytes('wide.db'))).toBe(true)
    }
  })

  it('are experiments of the app', () => {
    const store = openStore(at('wide.db'), { readonly: true })
    try {
      const kinds = store.listExperiments(['ablate', 'patch', 'path', 'attribute']).map(({ kind }) => kind)
      expect(new Set(kinds)).toEqual(new Set(['ablate', 'patch', 'path', 'attribute']))
      const [newest] = store.listExperiments(['path'])
      expect(store.experiment(newest!.id).plan).toMatchObject({
        request: { model: path, clean: decoder([0, 9, 5, 2]), from: ['L0H0', 'L0H1'], mlps: 'freeze' },
      })
    } finally {
      store.close()
    }
  })
})

describe('merge refuses, by name, and writes nothing', () => {
  const refused = (paths: string[], message: RegExp) => {
    expect(() => mergeShards(paths, at('refused.db'))).toThrow(
      expect.objectContaining({ message: expect.stringMatching(message) }),
    )
    expect(readdirSync(folder).filter((name) => name.startsWith('refused'))).toEqual([])
  }

  it('missing shards', () => {
    refused(shards(1, 2, 4, 5, 6, 8), /Shards 3, 7 of 8 are missing/)
    refused(shards(1, 2, 3, 4, 5, 6, 7), /Shard 8 of 8 is missing/)
  })

  it('doubled shards', () => {
    copyFileSync(at('s3.db'), at('again.db'))
    refused([...shards(...ALL), at('again.db')], /shard 3\/8 is given twice: .*s3\.db and .*again\.db/)
  })

  it('shards of another division or plan, and files that hold none', async () => {
    refused([...shards(...ALL), at('one.db')], /one\.db is shard 1\/1, but .*s1\.db is one of 8/)
    const other = parsePlan({ ...PLAN, tasks: [{ task: 'scan', length: 13, batch: 4 }] })
    await runShard(other, models, at('other.db'), { shard: 3, of: 8 })
    refused([...shards(1, 2, 4, 5, 6, 7, 8), at('other.db')], /other\.db .*another plan/)
    openStore(at('plain.db')).close()
    refused([at('plain.db')], /plain\.db: this workspace holds no share/)
    refused([at('absent.db')], /absent\.db/)
  })

  it('shards of other versions, other weights, or with a cell taken out', async () => {
    const changed = (name: string, sql: string) => {
      copyFileSync(at('s1.db'), at(name))
      const db = new Database(at(name))
      expect(db.prepare(sql).run().changes).toBe(1)
      db.close()
      return at(name)
    }
    const rest = shards(2, 3, 4, 5, 6, 7, 8)
    const version = `UPDATE experiment SET plan = json_set(plan, '$.versions.onnxruntime', '0.1') WHERE kind = 'sweep'`
    refused([...rest, changed('version.db', version)], /version\.db .*onnxruntime 0\.1/)
    const cell = '(SELECT cell FROM experiment_cell WHERE experiment = 1 LIMIT 1)'
    const weights = `UPDATE experiment_cell SET value = json_set(value, '$.checkpoint.contentHash', 'x') WHERE experiment = 1 AND cell = ${cell}`
    refused([...rest, changed('weights.db', weights)], /other weights of/)
    refused(
      [...rest, changed('gone.db', `DELETE FROM experiment_cell WHERE experiment = 1 AND cell = ${cell}`)],
      /Cell \d of 6 is in no shard/,
    )
  })

  it('a target that exists', () => {
    const before = bytes('s1.db')
    expect(() => mergeShards(shards(...ALL), at('s1.db'))).toThrow(/exists already/)
    expect(bytes('s1.db').equals(before)).toBe(true)
  })
})

describe('a file of something else is not written to', () => {
  it.each([
    ['another shard', 's1.db', { shard: 2, of: 8 }, /holds shard 1\/8 of this plan, not 2\/8/],
    ['another plan', 'other.db', { shard: 3, of: 8 }, /shard 3\/8 of another plan/],
    ['a workspace', 'plain.db', {}, /holds no share/],
  ])('%s', async (_, name, share, message) => {
    const before = bytes(name)
    await expect(runShard(plan, models, at(name), share)).rejects.toThrow(message)
    expect(bytes(name).equals(before)).toBe(true)
  })
})

/** Values of a file's cells, in order. */
// biome-ignore lint/suspicious/noExplicitAny: values are looked at field by field
function cellsOf(name: string): any[] {
  const reads = readShard(at(name))
  try {
    return reads.done().map((index) => reads.cell(index).value)
  } finally {
    reads.close()
  }
}
