/** ∂metric/∂hook of every family against the reference's autograd, within 2e-4, on saved and recomputed values. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openModel } from '../../core/index.ts'
import { backward } from '../../core/run/backward.ts'
import type { ResolvedMetric } from '../../core/run/metrics.ts'
import { FIXTURES, idRows, readGolden, relativeError } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'transformers')
const CASES = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

describe.each(CASES)('%s', (name) => {
  const golden = readGolden('transformers', name, 'golden.safetensors')
  const hooks = [...golden.keys()]
    .filter((key) => key.startsWith('grad.'))
    .map((key) => key.slice('grad.'.length))

  test.skipIf(hooks.length === 0)('gradients', async () => {
    const { metric } = JSON.parse(readFileSync(join(FOLDER, name, 'golden.json'), 'utf8'))
    const model = await openModel(join(FOLDER, name))
    const ids = idRows(golden.get('input_ids')!)
    const types = golden.get('token_type_ids')
    const own = golden.get('decoder_input_ids')
    const main = own ? idRows(own) : ids
    const resolved: ResolvedMetric = {
      kind: 'logit_diff',
      item: 0,
      positions: [main[0]!.length - 1],
      answer: metric.a,
      wrong: metric.b,
      targets: [],
    }
    for (const saveBudget of [1e9, 0]) {
      const { value, grads } = await backward(model.engine(), ids, {
        metric: resolved,
        hooks,
        saveBudget,
        ...(types ? { tokenTypes: idRows(types) } : {}),
        ...(own ? { decoderIds: main } : {}),
      })
      expect(Math.abs(value - metric.value)).toBeLessThan(1e-3)
      for (const hook of hooks) {
        const reference = golden.get(`grad.${hook}`)!
        expect(grads.get(hook)!.shape, hook).toEqual(reference.shape)
        expect(
          relativeError(grads.get(hook)!.data, reference.data as Float32Array),
          `${hook} ${saveBudget}`,
        ).toBeLessThan(2e-4)
      }
    }
    await model.close()
  })
})
