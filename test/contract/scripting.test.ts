/** The scripting API as a script without types calls it: what does not fit is one sentence, never another meaning. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HeadscopeError, type Model, openModel, patch, pathPatch, verify } from '../../core/index.ts'
import { ROOT } from '../support/command-line.ts'

let model: Model
const FOLDER = join(ROOT, 'models', 'induction-2l')
const IDS = [0, 5, 9, 7, 5]
const Z = 'blocks.1.attn.hook_z'

beforeAll(async () => {
  model = await openModel(FOLDER, { threads: 1 })
})
afterAll(() => model.close())

// biome-ignore lint/suspicious/noExplicitAny: these calls are wrong on purpose
type Wrong = any

async function refuses(code: string, words: RegExp, call: () => unknown): Promise<void> {
  const error = await Promise.resolve()
    .then(call)
    .then(
      () => null,
      (reason: unknown) => reason,
    )
  expect(error).toBeInstanceOf(HeadscopeError)
  expect((error as HeadscopeError).message).toMatch(words)
  expect((error as HeadscopeError).code).toBe(code)
}
const run = (ids: Wrong, options: Wrong = {}) => model.run(ids, options)
const edit = (edits: Wrong) => run(IDS, { edits })

it('a prompt is a list of ids', async () => {
  await refuses('bad-prompt', /is the text "hello", but must be a list of token ids/, () => run('hello'))
  await refuses('bad-prompt', /is undefined, but must be a list/, () => run(undefined))
  await refuses('bad-prompt', /holds the id "a"/, () => run([['a']]))
  expect((await run(Int32Array.from(IDS))).items[0]!.positions).toHaveLength(IDS.length)
})

describe('an edit', () => {
  it('has fields that are read', async () => {
    await refuses('bad-edit', /has no field "heads"; the fields are hook, item, head/, () =>
      edit([{ hook: Z, heads: 3, op: 'zero' }]),
    )
    await refuses('bad-edit', /^An edit needs "hook"/, () => edit([{ op: 'zero' }]))
    await refuses('bad-edit', /^edits are a list/, () => edit({ hook: Z, op: 'zero' }))
    await refuses('bad-edit', /head is null, but must be/, () => edit([{ hook: Z, head: null, op: 'zero' }]))
  })

  it('takes its values from one source that is known', async () => {
    const from = (source: object) => edit([{ hook: Z, op: 'set', from: source }])
    await refuses('bad-edit', /must have one of item, ids, run, mean, file, values, but has none/, () =>
      from({}),
    )
    await refuses('bad-edit', /but has item and ids/, () => from({ item: 0, ids: IDS }))
    await refuses('bad-edit', /"over" of a mean is "head"/, () =>
      from({ mean: [{ ids: IDS }], over: 'head' }),
    )
  })
})

it('options have the values of their page', async () => {
  await refuses('bad-request', /write \["logits"\]/, () => run(IDS, { capture: 'logits' }))
  await refuses('bad-request', /^top must be a whole number of 0 or more, but is -1/, () =>
    run(IDS, { top: -1 }),
  )
  await refuses('bad-request', /^bos is "maybe", but must be auto, yes or no/, () =>
    model.encode('a', { bos: 'maybe' as Wrong }),
  )
  await refuses('bad-request', /^threads is 0, but must be a whole number/, () =>
    openModel(FOLDER, { threads: 0 }),
  )
  const metric = { kind: 'logit_diff', answer: 9, wrong: 7 } as const
  const other = [0, 6, 9, 7, 5]
  await refuses('bad-edit', /"back" is not a direction/, () =>
    patch(model, IDS, other, { site: 'z', metric, direction: 'back' as Wrong }),
  )
  await refuses('bad-edit', /"thaw" is not a way to treat MLPs/, () =>
    pathPatch(model, IDS, other, { metric, from: ['L0H1'], to: ['logits'], mlps: 'thaw' as Wrong }),
  )
})

it('verify tells how far it is, and stops when asked', async () => {
  const seen: number[] = []
  const controller = new AbortController()
  const stopped = verify(model, {
    signal: controller.signal,
    onProgress: ({ done, total }) => {
      seen.push(done / total)
      if (done === 2) controller.abort()
    },
  })
  await refuses('cancelled', /cancelled/, () => stopped)
  expect(seen).toHaveLength(2)
  expect((await verify(model, { onProgress: ({ done, total }) => seen.push(done / total) })).ok).toBe(true)
  expect(seen.at(-1)).toBe(1)
})
