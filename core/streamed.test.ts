/** Parts come in order, an early end cancels, a fault is thrown where it is read. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ablate, attribute, type Model, openModel, patch, pathPatch, scanSeries } from './index.ts'
import { streamed } from './streamed.ts'

interface Options {
  readonly signal?: AbortSignal
  readonly onCells?: (cells: readonly number[]) => void
}

async function count(to: number, { signal, onCells }: Options): Promise<string> {
  for (let i = 0; i < to; i++) {
    await new Promise(setImmediate)
    if (signal?.aborted) throw new Error('cancelled')
    if (i === 7) throw new Error('seven')
    onCells?.([i, i + 0.5])
  }
  return 'done'
}

async function all<C>(stream: AsyncIterable<C>): Promise<C[]> {
  const cells: C[] = []
  for await (const cell of stream) cells.push(cell)
  return cells
}

describe('a streamed call', () => {
  const counting = streamed(count)

  it('gives its parts and its result', async () => {
    const heard: number[] = []
    const work = counting(3, { onCells: (cells) => heard.push(...cells) })
    expect(await all(work)).toEqual([0, 0.5, 1, 1.5, 2, 2.5])
    expect(await work).toBe('done')
    expect(await all(work)).toEqual(heard)
  })

  it('throws in the loop what it throws at the end', async () => {
    const cells: number[] = []
    const reading = async () => {
      for await (const cell of counting(9, {})) cells.push(cell)
    }
    await expect(reading()).rejects.toThrow('seven')
    expect(cells).toHaveLength(14)
  })

  it('is cancelled by leaving the loop, and by its signal', async () => {
    const work = counting(5, {})
    for await (const cell of work) if (cell === 1) break
    await expect(work).rejects.toThrow('cancelled')
    const stop = new AbortController()
    const other = counting(5, { signal: stop.signal })
    stop.abort()
    await expect(other).rejects.toThrow('cancelled')
  })
})

describe('sweeps and series', () => {
  const folder = join(import.meta.dirname, '..', 'models', 'induction-2l')
  let model: Model
  beforeAll(async () => {
    model = await openModel(folder)
  })
  afterAll(() => model.close())

  it('give the cells of their results', async () => {
    const clean = [5, 9, 9, 2, 5]
    const corrupt = [5, 8, 9, 2, 5]
    const metric = { kind: 'logit_diff', answer: 9, wrong: 8 } as const
    const works = [
      ablate(model, clean, { over: 'heads', kind: 'zero', metric }),
      patch(model, clean, corrupt, { site: 'z', metric }),
      pathPatch(model, clean, corrupt, { metric, from: ['L0H1', 'L0.mlp'], to: ['L1H2.q', 'logits'] }),
      attribute(model, clean, corrupt, { metric, verify: 2 }),
    ]
    for (const work of works) {
      const cells: unknown[] = await all<unknown>(work)
      const whole: readonly unknown[] = (await work).cells
      expect(cells).toHaveLength(whole.length)
      expect(cells).toEqual(expect.arrayContaining([...whole]))
    }
  })

  it('a series gives its steps', async () => {
    const members = ['step0', 'step6000'].map((at) => ({ at, path: join(folder, 'checkpoints', at) }))
    const work = scanSeries(members, { scores: ['induction'], batch: 5, length: 12 })
    expect((await all(work)).map(({ at }) => at)).toEqual(['step0', 'step6000'])
    expect((await work).steps).toHaveLength(2)
  })
})
