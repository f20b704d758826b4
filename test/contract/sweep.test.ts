/** Plans as labs run them: the real command, killed in the middle, under a real Slurm where one is installed. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readShard } from '../../core/store/shard-store.ts'
import { type CommandLine, commandLine, LAUNCHER, ROOT } from '../support/command-line.ts'
import { type Cluster, startSlurm, whyNoSlurm } from '../support/slurm.ts'

const PLAN = {
  models: ['induction-2l', { model: 'induction-2l/checkpoints', at: 'step512' }],
  prompts: [{ ids: [5, 9, 12, 5, 9], corrupt: { ids: [5, 9, 12, 7, 9] } }],
  tasks: [
    { task: 'scan', length: 24, batch: 64 },
    { task: 'scan', length: 16, batch: 64, seed: 2 },
    { task: 'ablate', over: 'positions' },
    { task: 'patch', site: 'z', metric: { kind: 'logit', answer: 12 } },
  ],
}
const CELLS = 8

let folder: string
let headscope: CommandLine
const at = (...names: string[]) => join(folder, ...names)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-sweep-'))
  headscope = commandLine(folder)
  writeFileSync(at('plan.json'), JSON.stringify(PLAN))
  expect(await headscope('sweep', 'plan.json', '--store', 'one.db')).toMatchObject({ code: 0, stderr: '' })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('sweep and merge', () => {
  it('answer in one document each, and give the bytes of one machine', async () => {
    for (const k of [1, 2, 3]) {
      const { stdout } = await headscope('sweep', 'plan.json', '--shard', `${k}/3`, '--json')
      const found = JSON.parse(stdout)
      expect(found).toMatchObject({ shard: k, of: 3, plan_cells: CELLS, failed: [], warnings: [] })
      expect(found.done).toBe(found.cells)
      expect(found.store).toBe(at(`plan.${k}-of-3.db`))
    }
    const shards = [1, 2, 3].map((k) => `plan.${k}-of-3.db`)
    const missing = await headscope('merge', ...shards.slice(1), '--out', 'all.db')
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(missing.stderr).toMatch(/^Shard 1 of 3 is missing; [^\n]*\n$/)
    expect(existsSync(at('all.db'))).toBe(false)
    const { stdout } = await headscope('merge', ...shards, '--out', 'all.db', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ shards: 3, cells: CELLS, out: at('all.db') })
    expect(same('all.db')).toBe(true)
  })

  it('list a share without computing', async () => {
    const { stdout } = await headscope('sweep', 'plan.json', '--shard', '2/3', '--list', '--json')
    const { cells } = JSON.parse(stdout)
    expect(cells[0]).toMatchObject({ cell: expect.any(Number), key: expect.stringMatching(/^induction-2l/) })
  })

  it('refuse a share that cannot be, and a plan that does not fit', async () => {
    for (const shard of ['0/3', '4/3', '3', 'a/b'])
      expect((await headscope('sweep', 'plan.json', '--shard', shard)).code).toBe(2)
    writeFileSync(at('bad.json'), '{"models": ["induction-2l"], "tasks": [{"task": "scam"}]}')
    const bad = await headscope('sweep', 'bad.json')
    expect(bad).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^bad\.json: "tasks\.0\.task"/),
    })
    expect((await headscope('sweep', 'absent.json')).stderr).toMatch(/absent\.json does not exist/)
    expect((await headscope('merge', 'one.db')).code).toBe(2)
  })

  it('killed at any moment and given again, change nothing (S33)', async () => {
    const seen = new Set<number>()
    for (const wait of [0, 1, 2, 4]) {
      const store = at(`killed-${wait}.db`)
      const { child, ended } = headscope.start(['sweep', 'plan.json', '--store', store])
      while (child.exitCode === null && cellsIn(store) < wait) await setTimeout(5)
      child.kill('SIGKILL')
      await ended
      seen.add(cellsIn(store))
      expect(await headscope('sweep', 'plan.json', '--store', store)).toMatchObject({ code: 0, stderr: '' })
      expect(same(`killed-${wait}.db`)).toBe(true)
    }
    expect(seen.size).toBeGreaterThan(1)
    expect(readdirSync(folder).filter((name) => /draft|new|-wal|-shm/.test(name))).toEqual([])
  })

  it('stopped by Ctrl-C, keep what is done and say how to go on', async () => {
    const store = at('stopped.db')
    const { child, ended } = headscope.start(['sweep', 'plan.json', '--store', store])
    while (child.exitCode === null && cellsIn(store) < 1) await setTimeout(5)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect(code).toBe(130)
    expect(stderr).toMatch(
      /^Cancelled; \d cells? of shard 1\/1 (was|were) computed and stored in .*go on\.\n$/,
    )
    await headscope('sweep', 'plan.json', '--store', store)
    expect(same('stopped.db')).toBe(true)
  })
})

describe('a Slurm array', () => {
  let cluster: Cluster | string = whyNoSlurm() ?? ''
  let env: Record<string, string>

  beforeAll(async () => {
    if (cluster !== '') return
    mkdirSync(at('slurm'))
    cluster = await startSlurm(at('slurm'))
    const command = at('slurm', 'headscope')
    writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`, { mode: 0o755 })
    env = { HEADSCOPE: command, HEADSCOPE_CACHE: at('cache'), HEADSCOPE_DATA: at('data') }
  })
  afterAll(async () => {
    if (typeof cluster !== 'string') await cluster.stop()
  })

  it('computes the shards of a plan, and one again after it was killed', {
    timeout: 240_000,
  }, async (context) => {
    if (typeof cluster === 'string') return context.skip(cluster)
    const submit = (array: string) =>
      (cluster as Cluster).run(
        'sbatch',
        [
          '--parsable',
          `--array=${array}`,
          join(ROOT, 'core', 'plan', 'headscope.sbatch'),
          at('plan.json'),
          '4',
          'shares',
        ],
        env,
      )
    const share = (k: number) => at('slurm', 'shares', `shard-${k}-of-4.db`)
    const killed = (await submit('2')).trim()
    for (let i = 0; i < 2000 && !existsSync(share(2)); i++) await setTimeout(10)
    await cluster.run('scancel', ['--signal=KILL', '--full', killed])
    // sbatch --wait looks every few seconds only.
    const empty = async () => {
      while ((await (cluster as Cluster).run('squeue', ['--noheader'])).trim() !== '') await setTimeout(100)
    }
    await empty()
    await submit('1-4')
    await empty()
    const shards = [1, 2, 3, 4].map(share)
    expect(await headscope('merge', ...shards, '--out', 'slurm.db')).toMatchObject({ code: 0, stderr: '' })
    expect(same('slurm.db')).toBe(true)
  })
})

/** Whether a file has the bytes of the whole plan computed at once. */
function same(name: string): boolean {
  return readFileSync(at(name)).equals(readFileSync(at('one.db')))
}

/** Cells that a share has so far; 0 while there is none. */
function cellsIn(store: string): number {
  try {
    const reads = readShard(store)
    try {
      return reads.done().length
    } finally {
      reads.close()
    }
  } catch {
    return 0
  }
}
