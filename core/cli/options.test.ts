import { expect, it } from 'vitest'
import { type Command, command } from './command.ts'
import { readArguments } from './options.ts'

const probe: Command = command({
  name: 'probe',
  usage: 'MODEL [options]',
  summary: '',
  examples: [],
  options: {
    pos: { type: 'whole', help: '' },
    scale: { type: 'number', help: '' },
    text: { type: 'text', multiple: true, help: '' },
    bos: { type: 'text', choices: ['auto', 'yes', 'no'], implied: 'yes', help: '' },
    deep: { type: 'flag', help: '' },
  },
  takes: [1, 2],
  run: async () => 0,
})
const read = (...argv: string[]) => readArguments(probe, argv)
const sentenceOf = (...argv: string[]) => {
  try {
    read(...argv)
  } catch (error) {
    return (error as Error).message
  }
  return 'no error'
}

it('takes values that begin with a dash', () => {
  expect(read('m', '--pos', '-1').values.pos).toBe(-1)
  expect(read('m', '--scale', '-1e-3').values.scale).toBe(-0.001)
  expect(read('m', '--text', '--- a', '--text=--json').values.text).toEqual(['--- a', '--json'])
  expect(read('--', '-m').positionals).toEqual(['-m'])
  expect(read('m', '-- a comment\nselect 1').positionals).toEqual(['m', '-- a comment\nselect 1'])
})

it('keeps repeats in order, and knows what was not given', () => {
  const { values, positionals } = read('a', '--text', 'x', 'b', '--text', 'y')
  expect(values).toMatchObject({ text: ['x', 'y'], deep: false, json: false })
  expect(values.pos).toBeUndefined()
  expect(positionals).toEqual(['a', 'b'])
})

it('lets an option with an implied value stand alone', () => {
  expect(read('m', '--bos').values.bos).toBe('yes')
  expect(read('--bos', 'm').positionals).toEqual(['m'])
  expect(read('m', '--bos', 'no').values.bos).toBe('no')
})

it('says what is wrong in one sentence', () => {
  expect(sentenceOf('m', '--txt', 'x')).toBe('probe has no option --txt; did you mean --text?')
  expect(sentenceOf('m', '-x')).toBe('probe has no option -x')
  expect(sentenceOf('m', '--pos', '1.5')).toBe('--pos needs a whole number, not "1.5"')
  expect(sentenceOf('m', '--scale', 'NaN')).toBe('--scale needs a number, not "NaN"')
  expect(sentenceOf('m', '--pos')).toBe('--pos needs a value: --pos VALUE')
  expect(sentenceOf('m', '--pos', '--json')).toBe('--pos needs a value: --pos VALUE')
  expect(sentenceOf('m', '--deep=1')).toBe('--deep takes no value')
  expect(sentenceOf('m', '--bos=maybe')).toBe('--bos is one of auto, yes, no, not "maybe"')
  expect(sentenceOf('a', 'b', '--bos', 'maybe')).toBe('--bos is one of auto, yes, no, not "maybe"')
  expect(sentenceOf()).toBe('probe needs MODEL, but got none')
  expect(sentenceOf('a', 'b', 'c')).toBe('probe takes 2 arguments, so "c" is one too many')
})
