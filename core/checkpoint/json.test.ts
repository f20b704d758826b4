import { expect, test } from 'vitest'
import { JsonError, parseJson, shorten, show } from './json.ts'

test('reads what JSON.parse reads', () => {
  const text = '{"a": [1, -2.5e3, "x\\u0041\\n\\"", true, false, null, {}], "": {"b": []}}'
  expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)))
})

test('names that every object has are plain keys', () => {
  const value = parseJson('{"__proto__": {"n": 1}, "constructor": 2}') as Record<string, unknown>
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor'])
  expect(value.n).toBeUndefined()
  expect(value.toString).toBeUndefined()
})

test.each([
  ['{"a": 1, "a": 2}', '"a" is listed twice'],
  ['{"a.b": 1, "a\\u002eb": 2}', '"a.b" is listed twice'],
  ['{"x": {"__proto__": 1, "__proto__": 2}}', '"__proto__" is listed twice'],
  ['{"eps": NaN}', 'under "eps"'],
  ['{"eps": -Infinity}', 'not a JSON value'],
  ['[1,]', 'not a JSON value'],
  ['{"a": 1,}', 'key in quotes'],
  ['{"a": 01}', '"," or "}"'],
  ['"a', 'ends inside a string'],
  ['"a\nb"', 'control character'],
  ['"\\x41"', 'unknown escape'],
  ['', 'ends too early'],
  ['{} {}', 'something follows'],
  [`{"deep": ${'['.repeat(5000)}`, 'under "deep"'],
])('refuses %s', (text, words) => {
  expect(() => parseJson(text)).toThrow(JsonError)
  expect(() => parseJson(text)).toThrow(words)
})

test('values in messages are short', () => {
  expect(show(undefined)).toBe('missing')
  expect(show(Number.POSITIVE_INFINITY)).toBe('Infinity')
  expect(show('2')).toBe('"2"')
  expect(shorten('x'.repeat(4000)).length).toBeLessThan(140)
  expect(shorten('x'.repeat(4000))).toContain('4000 characters')
})
