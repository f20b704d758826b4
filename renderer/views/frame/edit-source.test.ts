import { expect, test } from 'vitest'
import { valuesIn } from './edit-source.ts'

test('a steering vector, a run, a prompt and a mean as the source of an edit', () => {
  const of = (
    op: 'set' | 'add',
    kind: 'file' | 'run' | 'ids' | 'mean' | 'texts',
    by: string,
    fields: object,
  ) => valuesIn(op, kind, by, { ...fields }, 100)
  expect(of('add', 'file', '4', { file: ' /a/v.safetensors', tensor: 'v' })).toEqual({
    part: { from: { file: '/a/v.safetensors', tensor: 'v' }, by: 4 },
    problem: null,
  })
  expect(of('set', 'run', '', { run: '12' }).part).toEqual({ from: { run: 12 } })
  expect(of('set', 'ids', '', { ids: '5, 9' }).part).toEqual({ from: { ids: [5, 9] } })
  expect(of('set', 'mean', '', { mean: 'x.txt' }).part).toEqual({ from: { mean: 'x.txt' } })
  expect(of('set', 'texts', '', { texts: 'a cat\n\n[5, 9]\n' }).part).toEqual({
    from: { mean: [{ text: 'a cat' }, { ids: [5, 9] }] },
  })
  expect(of('set', 'mean', '', { mean: 'x.txt', over: 'pos' }).part).toEqual({
    from: { mean: 'x.txt', over: 'pos' },
  })
  expect(of('set', 'texts', '', { texts: '[5]', over: 'pos' }).part).toEqual({
    from: { mean: [{ ids: [5] }], over: 'pos' },
  })
  expect(of('set', 'texts', '', { texts: '[5, 900]' }).problem).toMatch(/out of range/)
  expect(of('set', 'texts', '', { texts: ' ' }).problem).toBe('Fill in: texts.')
  expect(of('set', 'ids', '', { ids: '5, 900' }).problem).toMatch(/out of range/)
  expect(of('set', 'run', '', { run: 'last' }).problem).toMatch(/number in the library/)
  expect(of('add', 'file', '', { file: 'a', tensor: 'v' }).problem).toMatch(/multiplied/)
  expect(of('set', 'file', '', { file: 'a' }).problem).toBe('Fill in: tensor.')
})

test('a number, or minus infinity', () => {
  expect(valuesIn('zero', 'number', '', {}, 9)).toEqual({ part: {}, problem: null })
  expect(valuesIn('scale', 'file', '0.5', {}, 9).part).toEqual({ by: 0.5 })
  expect(valuesIn('set', 'number', '-inf', {}, 9).part).toEqual({ value: '-inf' })
  expect(valuesIn('set', 'number', '', {}, 9).problem).toBe('Give a number.')
})
