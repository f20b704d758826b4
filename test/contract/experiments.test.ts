/** Sweeps over HTTP and on the command line: cells that stream, what is kept, resuming after a kill, reproduction. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type {
  EditStackDetail,
  EditStackSummary,
  ExperimentDetail,
  ExperimentSummary,
  PredictReply,
  Reproduced,
} from '../../core/api/contract.ts'
import { openStore } from '../../core/store/capture-store.ts'
import { type CommandLine, commandLine, ROOT } from '../support/command-line.ts'
import { type Api, MODEL, startApi } from './api-setup.ts'

const IDS = [1, 50, 60, 70, 80, 1, 50, 60]
const CORRUPT = [1, 50, 61, 70, 80, 1, 50, 60]
const metric = { kind: 'logit_diff', answer: 70, wrong: 90 } as const
const pair = { model: MODEL, clean: { ids: IDS }, corrupt: { ids: CORRUPT }, metric }

describe('over HTTP', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api.close())

  async function sweep(kind: string, body: object) {
    const response = await api.raw(`/api/jobs/${kind}`, { method: 'POST', body: JSON.stringify(body) })
    const { job } = (await response.json()) as { job: number }
    return { job, events: await api.eventsOf<ExperimentDetail>(job) }
  }

  test('cells stream, are repeated to a late listener, and are what is stored', async () => {
    const { job, events } = await sweep('ablate', {
      model: MODEL,
      prompt: { ids: IDS },
      over: 'heads',
      kind: 'zero',
      metric,
    })
    const begun = events.find((event) => event.type === 'begun')
    expect(begun).toMatchObject({ estimate: { cells: 16 } })
    const last = events.at(-1)!
    if (last.type !== 'done' || last.result.kind !== 'ablate') throw new Error(JSON.stringify(last))
    const cells = events.flatMap((event) => (event.type === 'cells' ? event.cells : []))
    expect(cells).toHaveLength(16)
    expect(last.result.cellList).toEqual(cells)
    expect(last.result).toMatchObject({
      complete: true,
      done: 16,
      cells: 16,
      model: MODEL,
      result: { base: expect.any(Number) },
    })
    expect(last.result.prompts[0]).toHaveLength(8)
    expect(last.result.cellList.every((cell) => Number.isFinite(cell.direct))).toBe(true)

    const again = await api.eventsOf<ExperimentDetail>(job)
    expect(again.filter((event) => event.type === 'cells')).toEqual(
      events.filter((event) => event.type === 'cells'),
    )
    expect(again.at(-1)).toEqual(last)
  })

  test('patch, path and attribute, listed, opened and deleted', async () => {
    const asked = {
      patch: { ...pair, site: 'z' },
      path: { ...pair, from: ['L0H2'], to: ['L1H3.k', 'logits'] },
      attribute: { ...pair, verify: 3 },
    }
    for (const [kind, body] of Object.entries(asked)) {
      const { events } = await sweep(kind, body)
      const last = events.at(-1)!
      if (last.type !== 'done') throw new Error(JSON.stringify(last))
      const { id, command, result } = last.result
      expect(result).toMatchObject({ clean: expect.any(Number), corrupt: expect.any(Number) })
      expect(command).toMatch(new RegExp(`^headscope ${kind} ${MODEL} `))
      const found = (await (await api.raw(`/api/experiments/${id}`)).json()) as ExperimentDetail
      expect(found).toEqual(last.result)
    }
    const listed = (await (await api.raw('/api/experiments')).json()) as ExperimentSummary[]
    expect(listed.slice(0, 3).map(({ kind }) => kind)).toEqual(['attribute', 'path', 'patch'])
    expect((await api.raw(`/api/experiments/${listed[0]!.id}`, { method: 'DELETE' })).status).toBe(200)
    expect((await api.raw(`/api/experiments/${listed[0]!.id}`)).status).toBe(404)
  })

  test('what cannot run is one sentence, and leaves no experiment', async () => {
    const before = ((await (await api.raw('/api/experiments')).json()) as ExperimentSummary[]).length
    const unequal = await sweep('patch', { ...pair, corrupt: { ids: [1, 2] }, site: 'z' })
    expect(unequal.events.at(-1)).toMatchObject({
      type: 'failed',
      error: { message: expect.stringContaining('8 tokens') },
    })
    const unknown = await sweep('path', { ...pair, from: ['L9H0'], to: ['logits'] })
    expect(unknown.events.at(-1)).toMatchObject({
      type: 'failed',
      error: { message: expect.stringContaining('layers') },
    })
    const missing = await sweep('ablate', {
      model: MODEL,
      prompt: { ids: IDS },
      over: 'heads',
      kind: 'zero',
      metric,
      resume: 999,
    })
    expect(missing.events.at(-1)).toMatchObject({ type: 'failed', error: { code: 'not-found' } })
    expect((await (await api.raw('/api/experiments')).json()) as ExperimentSummary[]).toHaveLength(before)
  })

  test('a stack of edits is kept with what it did, listed, given back and deleted', async () => {
    const zero = { hook: 'blocks.1.attn.hook_z', head: 3, op: 'zero' }
    const stack = [
      { edit: zero, on: true, name: 'the head' },
      { edit: { ...zero, head: 5 }, on: false, name: null },
    ]
    const keep = async (body: object) =>
      api.raw('/api/edit-stacks', { method: 'POST', body: JSON.stringify(body) })
    const asked = { model: MODEL, prompt: { ids: IDS }, name: 'without L1H3', edits: stack }
    const { id } = (await (await keep(asked)).json()) as { id: number }
    const listed = (await (await api.raw('/api/edit-stacks')).json()) as EditStackSummary[]
    expect(listed[0]).toMatchObject({ id, name: 'without L1H3', model: MODEL, edits: 2 })
    const whole = (await (await api.raw(`/api/edit-stacks/${id}`)).json()) as EditStackDetail
    expect(whole.request).toEqual(asked)
    expect(whole.tokens).toHaveLength(IDS.length)
    const predicted = await api.raw('/api/predict', {
      method: 'POST',
      body: JSON.stringify({ model: MODEL, prompt: { ids: IDS }, edits: [zero], positions: [-1] }),
    })
    expect(whole.reply).toEqual(await predicted.json())
    expect(
      ((await (await api.raw('/api/experiments')).json()) as { id: number }[]).map((one) => one.id),
    ).not.toContain(id)
    const wrong = await keep({ ...asked, edits: [{ edit: { ...zero, head: 99 }, on: true, name: null }] })
    expect([wrong.status, await wrong.json()]).toMatchObject([
      422,
      { error: { message: expect.stringContaining('99') } },
    ])
    expect((await keep({ ...asked, name: ' ' })).status).toBe(400)
    expect((await api.raw(`/api/edit-stacks/${id}`, { method: 'DELETE' })).status).toBe(200)
    expect((await api.raw(`/api/edit-stacks/${id}`)).status).toBe(404)
    expect(await (await api.raw('/api/edit-stacks')).json()).toEqual([])
  })

  test('several positions before and after an edit, with their divergence', async () => {
    const body = {
      model: MODEL,
      prompt: { ids: IDS },
      edits: [{ hook: 'blocks.1.attn.hook_z', op: 'zero' }],
      positions: [0, -1],
    }
    const response = await api.raw('/api/predict', { method: 'POST', body: JSON.stringify(body) })
    const { positions, base } = (await response.json()) as PredictReply
    expect(positions.map(({ pos }) => pos)).toEqual([0, 7])
    expect(positions[1]!.base).toEqual(base.top)
    expect(positions[1]!.kl).toBeGreaterThan(0.1)
    const same = await api.raw('/api/predict', {
      method: 'POST',
      body: JSON.stringify({ ...body, edits: [] }),
    })
    expect(((await same.json()) as PredictReply).positions.map(({ kl }) => kl)).toEqual([0, 0])
  })

  test('a run with edits is marked and can be opened beside the clean one', async () => {
    const edits = [{ hook: 'blocks.1.attn.hook_z', head: 3, op: 'zero' }]
    const ids = []
    for (const body of [
      { model: MODEL, prompt: { ids: IDS } },
      { model: MODEL, prompt: { ids: IDS }, edits },
    ]) {
      const { events } = await sweep('run', body)
      const last = events.at(-1) as { result: { run?: number } } | undefined
      ids.push(last!.result.run!)
    }
    const details = await Promise.all(ids.map(async (id) => (await api.raw(`/api/runs/${id}`)).json()))
    expect(details).toMatchObject([{ edits: 0 }, { edits: 1, provenance: { edits } }])
  })
})

describe('on the command line', () => {
  let folder: string
  let headscope: CommandLine
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headscope-sweeps-'))
    headscope = commandLine(folder)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const prompt = ['--ids', IDS.join(',')]
  const given = ['--answer-id', '70', '--wrong-id', '90']

  test('every kind gives the fields of its document', async () => {
    const both = [
      '--clean-ids',
      IDS.join(','),
      '--corrupt-ids',
      CORRUPT.join(','),
      ...given,
      '--json',
      '--no-store',
    ]
    const ablated = await headscope('ablate', MODEL, ...prompt, ...given, '--json', '--no-store')
    expect(ablated.stderr).toBe('')
    expect(JSON.parse(ablated.stdout)).toMatchObject({
      base: expect.any(Number),
      cells: expect.any(Array),
      warnings: [],
    })
    const cell = JSON.parse(ablated.stdout).cells[5]
    expect(cell).toEqual({
      layer: 0,
      head: 5,
      value: expect.any(Number),
      delta: expect.any(Number),
      direct: expect.any(Number),
    })
    for (const [args, fields] of [
      [
        ['patch', MODEL, '--site', 'resid_pre', ...both],
        ['layer', 'pos', 'value', 'normalized'],
      ],
      [
        ['path', MODEL, '--from', 'L0H2,L0H1', '--to', 'L1H3.k', ...both],
        ['from', 'to', 'value', 'delta'],
      ],
      [
        ['attribute', MODEL, ...both],
        ['site', 'layer', 'head', 'pos', 'estimate'],
      ],
    ] as const) {
      const ended = await headscope(...args)
      expect(ended.stderr).toBe('')
      const document = JSON.parse(ended.stdout)
      expect(Object.keys(document.cells[0])).toEqual(fields)
      expect(document).toMatchObject({ clean: expect.any(Number), corrupt: expect.any(Number) })
    }
  })

  test('gradients are written under grad.<hook>', async () => {
    const ended = await headscope(
      'run',
      MODEL,
      ...prompt,
      ...given,
      '--grad',
      'blocks.*.attn.hook_z',
      '--out',
      'g.safetensors',
      '--json',
      '--no-store',
    )
    expect(JSON.parse(ended.stdout)).toMatchObject({
      metric: { kind: 'logit_diff', value: expect.any(Number) },
      gradients: ['blocks.0.attn.hook_z', 'blocks.1.attn.hook_z'],
    })
  })

  test.each([
    [['ablate', MODEL, ...prompt], 2, 'a metric is needed'],
    [['ablate', MODEL, ...prompt, ...prompt, ...given], 2, 'one prompt'],
    [['ablate', MODEL, ...prompt, ...given, '--kind', 'mean', '--no-store'], 2, 'give --reference FILE'],
    [
      ['patch', MODEL, '--clean-ids', '1,2', '--corrupt-ids', '1,3,4', ...given, '--no-store'],
      1,
      '2 tokens and the corrupt one 3',
    ],
    [['patch', MODEL, '--clean-ids', '1,2', ...given], 2, '--corrupt'],
    [['path', MODEL, '--clean-ids', '1,2', '--corrupt-ids', '1,3', ...given], 2, 'needs --from'],
    [['ablate', MODEL, ...prompt, '--metric', '{"kind": "loss", "x": 1}'], 2, 'no field "x"'],
    [['ablate', MODEL, '--resume', '5', '--no-store'], 1, 'in a workspace'],
  ] as const)('%j is refused', async (args, code, words) => {
    const ended = await headscope(...args)
    expect(ended.stderr).toContain(words)
    expect(ended).toMatchObject({ code, stdout: '' })
  })

  const LONG = Array.from({ length: 100 }, (_, i) => 1 + ((i * 37) % 90)).join(',')
  const PROSE = join(ROOT, 'models', 'prose-4l')

  test('Ctrl-C keeps what is done and says how to go on', async () => {
    const store = join(folder, 'cancelled.db')
    const args = ['ablate', PROSE, '--ids', LONG, '--over', 'positions', '--metric', '{"kind": "loss"}']
    const { child, ended } = headscope.start([...args, '--store', store])
    await cellsIn(store, 10)
    child.kill('SIGINT')
    const first = await ended
    expect(first.code).toBe(130)
    expect(first.stderr).toMatch(/cells are stored: go on with headscope ablate .* --resume 1 --store/)
    const second = await headscope('ablate', PROSE, '--resume', '1', '--store', store, '--json')
    expect(JSON.parse(second.stdout)).toMatchObject({ experiment: 1, cells: { length: 400 } })
  }, 240_000)

  const SHORT = LONG.split(',').slice(0, 60)
  const pairArgs = [
    ...['--clean-ids', SHORT.join(','), '--corrupt-ids', ['7', '8', ...SHORT.slice(2)].join(',')],
    ...['--metric', '{"kind": "loss"}'],
  ]
  test.each([
    ['path', ['--from', 'all', '--to', 'L3H0.q,L3H1.k,L3H2.v,L2H0.k,L2H1.v,logits'], 15],
    ['attribute', ['--verify', '600'], 30],
  ] as const)(
    '%s goes on with what it lacks',
    async (kind, more, least) => {
      const [store, other] = [join(folder, `${kind}.db`), join(folder, `${kind}-whole.db`)]
      const args = [kind, PROSE, ...pairArgs, ...more]
      const { child, ended } = headscope.start([...args, '--store', store])
      await cellsIn(store, least)
      child.kill('SIGINT')
      expect((await ended).stderr).toMatch(/Cancelled; \d+ of \d+ cells are stored/)
      const before = readExperiment(store)
      expect(before).toMatchObject({ complete: false })
      expect(before.done).toBeLessThan(before.cells)
      const resumed = await headscope(kind, PROSE, '--resume', '1', '--store', store, '--json')
      const whole = await headscope(...args, '--store', other, '--json')
      const after = readExperiment(store)
      expect(after).toMatchObject({ complete: true, done: after.cells })
      expect(after.cellList.slice(0, before.done)).toEqual(before.cellList)
      const [one, two] = [JSON.parse(resumed.stdout), JSON.parse(whole.stdout)]
      expect(one.cells).toHaveLength(two.cells.length)
      one.cells.forEach((cell: Record<string, number>, i: number) => {
        for (const name of ['value', 'estimate', 'exact'])
          if (typeof cell[name] === 'number' && typeof two.cells[i][name] === 'number')
            expect(cell[name]).toBeCloseTo(two.cells[i][name], 4)
      })
    },
    240_000,
  )

  test('a killed sweep resumes, and gives the same cells as one that was never killed', async () => {
    const [store, other] = [join(folder, 'killed.db'), join(folder, 'whole.db')]
    const script = join(ROOT, 'test', 'support', 'sweep-writer.ts')
    const killed = spawn(process.execPath, [script, store, PROSE, LONG], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const _ of killed.stdout) {
      killed.kill('SIGKILL')
      break
    }
    if (killed.exitCode === null && killed.signalCode === null) await once(killed, 'exit')
    const before = readExperiment(store)
    expect(before).toMatchObject({ complete: false, cells: 400 })
    expect(before.done).toBeGreaterThan(0)
    expect(before.done).toBeLessThan(400)
    execFileSync(process.execPath, [script, store, PROSE, LONG, '1'])
    execFileSync(process.execPath, [script, other, PROSE, LONG])
    const [resumed, whole] = [readExperiment(store), readExperiment(other)]
    expect(resumed).toMatchObject({ complete: true, done: 400 })
    expect(resumed.cellList.slice(0, before.done)).toEqual(before.cellList)
    const values = new Map(whole.cellList.map(({ key, value }) => [key, (value as { value: number }).value]))
    for (const { key, value } of resumed.cellList)
      expect((value as { value: number }).value).toBeCloseTo(values.get(key)!, 4)
  }, 240_000)

  test('the command of a result gives the result again', async () => {
    const api = await startApi()
    try {
      const asked = { kind: 'patch', request: { ...pair, site: 'z' } }
      const response = await api.raw('/api/reproduce', { method: 'POST', body: JSON.stringify(asked) })
      const { command } = (await response.json()) as Reproduced
      const words = command!
        .split(' ')
        .slice(1)
        .map((word) => word.replace(/^'|'$/g, ''))
      const again = JSON.parse((await headscope(...words, '--json', '--no-store')).stdout)
      const direct = await headscope(
        'patch',
        MODEL,
        '--clean-ids',
        IDS.join(','),
        '--corrupt-ids',
        CORRUPT.join(','),
        '--site',
        'z',
        ...given,
        '--json',
        '--no-store',
      )
      expect(again.cells).toEqual(JSON.parse(direct.stdout).cells)
    } finally {
      await api.close()
    }
  })
})

function readExperiment(path: string) {
  const store = openStore(path, { readonly: true })
  try {
    return store.experiment(1)
  } finally {
    store.close()
  }
}

/** Waits until the first experiment has `least` cells; how many it has. */
async function cellsIn(path: string, least: number): Promise<number> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    try {
      const { done } = readExperiment(path)
      if (done >= least) return done
    } catch {
      // not there yet
    }
  }
}
