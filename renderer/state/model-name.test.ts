import { expect, test } from 'vitest'
import type { Library } from '../../core/api/contract.ts'
import { memberBeside, modelName, modelTitle, nameWithHash } from './model-name.ts'

const series = ['step0', 'step64', 'step128'].map((at) => ({ at, path: `small/${at}` }))
const library = {
  models: [{ path: 'small', name: 'small', origin: 'bundled', series }],
} as unknown as Library

test('a step has the name of its series', () => {
  expect(modelName(library, 'small/step64', 'step64')).toEqual({ name: 'small', step: 'step 64' })
  expect(modelTitle(library, 'small/step64', 'step64')).toBe('small · step 64')
})

test('what is no step has its own name, what is not listed the given one', () => {
  expect(modelTitle(library, 'small', 'x')).toBe('small')
  expect(modelTitle(undefined, '/a/b', 'b')).toBe('b')
})

test('steps before and after; the folder of the series counts as its last step', () => {
  expect(memberBeside(series, 'small/step64', 1)?.at).toBe('step128')
  expect(memberBeside(series, 'small/step0', -1)).toBeUndefined()
  expect(memberBeside(series, 'small', -1)?.at).toBe('step64')
  expect(memberBeside(series, 'small', 1)).toBeUndefined()
  expect(memberBeside([], 'small', -1)).toBeUndefined()
})

test('a hash stands behind a name once it is known', () => {
  expect(nameWithHash('small', 'a3949c04905fffff')).toBe('small (a3949c04905f)')
  expect(nameWithHash('small', null)).toBe('small')
})
