/** A residual carried into another prompt: against runs of the model itself, and what must not change. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel } from '../run/model.ts'
import { logitLens } from './lens.ts'
import { patchedLens } from './patched-lens.ts'

const FIXTURES = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'transformerlens')
const A = [3, 17, 5, 9, 21, 5, 9]
const B = [4, 4, 8, 60, 7]

describe.each(['gpt2', 'llama'])('%s', (name) => {
  let model: Model
  let layers: number
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, name))
    layers = model.spec.stacks.at(-1)!.layers.length
  })
  afterAll(() => model.close())

  test('a cell carried onto itself changes nothing, bit for bit', async () => {
    const cell = { ids: B, pos: 2, border: 1 }
    const { layers: rows, distance } = await patchedLens(model, cell, cell)
    expect(distance).toBe(0)
    expect(rows).toEqual((await logitLens(model, [B])).layers)
  })

  test('the carried cell says what it said at home; what is before or below it does not change', async () => {
    const from = { ids: A, pos: 5, border: 1 }
    const to = { ids: B, pos: 2, border: 1 }
    const { layers: rows, distance } = await patchedLens(model, from, to)
    const [home, plain] = [await logitLens(model, [A]), await logitLens(model, [B])]
    const at = (lens: typeof home, border: number, pos: number) => lens.layers[border]!.positions[pos]!
    expect(distance).toBeGreaterThan(0)
    expect(rows[1]!.positions[2]!.top).toEqual(at(home, 1, 5).top)
    let changed = 0
    for (let border = 0; border <= layers; border++)
      for (let pos = 0; pos < B.length; pos++) {
        const now = rows[border]!.positions[pos]!
        const same = JSON.stringify(now.top) === JSON.stringify(at(plain, border, pos).top)
        if (border < 1 || pos < 2 || (border === 1 && pos > 2)) expect(same, `${border} ${pos}`).toBe(true)
        else if (!same) changed++
      }
    expect(changed).toBeGreaterThan(2)
  })

  test('at one place it is the edit that takes the residual from the other prompt', async () => {
    const border = layers - 1
    const to = { ids: B, pos: 3, border }
    const { layers: rows } = await patchedLens(model, { ids: A, pos: 3, border }, to, { top: 3 })
    const edits = [
      { hook: `blocks.${border}.hook_resid_pre`, pos: 3, op: 'set' as const, from: { ids: A.slice(0, 5) } },
    ]
    const run = await model.run(B, { edits, top: 3 })
    const said = rows.at(-1)!.positions.map(({ top }) => top.map(({ id }) => id))
    expect(said).toEqual(run.items[0]!.positions.map(({ top }) => top.map(({ id }) => id)))
  })

  test('the last border is the output itself; a border that is not there is named', async () => {
    const from = { ids: A, pos: 1, border: layers }
    const { layers: rows } = await patchedLens(model, from, { ids: B, pos: 0, border: layers })
    const home = await logitLens(model, [A])
    expect(rows.at(-1)!.positions[0]!.top).toEqual(home.layers.at(-1)!.positions[1]!.top)
    await expect(patchedLens(model, from, { ids: B, pos: 0, border: layers + 1 })).rejects.toThrow(
      new RegExp(`no border ${layers + 1}: they are numbered 0 to ${layers}`),
    )
    await expect(patchedLens(model, from, { ids: B, pos: 9, border: 0 })).rejects.toThrow(/no position 9/)
  })
})
