import { expect, test } from 'vitest'
import { lengthWarning } from './prompt-length.ts'

const spec = { n_ctx: 256, positional: 'rotary', family: 'gpt_neox' }

test('a prompt within the positions is silent, one beyond them is not', () => {
  expect(lengthWarning(256, spec)).toBeNull()
  expect(lengthWarning(257, spec)).toMatch(
    /^257 tokens are more than the 256 positions this model was made for/,
  )
  expect(lengthWarning(257, { ...spec, positional: 'learned' })).toMatch(/refused/)
})

test('a graph that does not say how many positions it has warns of nothing', () => {
  expect(lengthWarning(9999, { ...spec, family: 'onnx' })).toBeNull()
  expect(lengthWarning(9999, { ...spec, n_ctx: 0 })).toBeNull()
})
