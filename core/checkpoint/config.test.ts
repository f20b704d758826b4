import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { count, finiteNumber, flag, oneOf, parseConfig, positive, readConfig, whole } from './config.ts'
import { parseJson } from './json.ts'
import type { RawConfig } from './types.ts'

const schema = z.object({
  n_layer: count(),
  eps: positive(),
  act: oneOf('gelu', 'relu').default('gelu'),
  tied: flag().default(true),
  window: whole(-1, 100).nullish(),
  scale: finiteNumber(0, 1).optional(),
  rope: z.object({ factor: positive() }).optional(),
})

const parse = (text: string) => parseConfig(schema, parseJson(text) as RawConfig)

test('takes defaults and leaves unknown keys alone', () => {
  expect(parse('{"n_layer": 2, "eps": 1e-5, "other": [1], "window": null}')).toEqual({
    n_layer: 2,
    eps: 1e-5,
    act: 'gelu',
    tied: true,
    window: null,
  })
})

test.each([
  [
    '{"n_layer": 2.5, "eps": 1}',
    'config.json: n_layer is 2.5, but must be a whole number from 1 to 10000; correct it in config.json.',
  ],
  ['{"n_layer": "2", "eps": 1}', 'n_layer is "2", but'],
  ['{"n_layer": true, "eps": 1}', 'n_layer is true, but'],
  ['{"n_layer": null, "eps": 1}', 'n_layer is null, but'],
  ['{"n_layer": 1000000000, "eps": 1}', 'n_layer is 1000000000, but'],
  ['{"eps": 1}', 'n_layer is missing, but must be a whole number'],
  ['{"__proto__": {"n_layer": 2}, "eps": 1}', 'n_layer is missing'],
  ['{"n_layer": 2, "eps": 1e999}', 'eps is Infinity, but must be a finite number above 0'],
  ['{"n_layer": 2, "eps": null}', 'eps is null'],
  ['{"n_layer": 2, "eps": 1, "act": "toString"}', 'act is "toString", but must be one of "gelu", "relu"'],
  ['{"n_layer": 2, "eps": 1, "tied": 1}', 'tied is 1, but must be true or false'],
  ['{"n_layer": 2, "eps": 1, "window": -2}', 'window is -2'],
  ['{"n_layer": 2, "eps": 1, "scale": 2}', 'scale is 2, but must be a finite number from 0 to 1'],
  ['{"n_layer": 2, "eps": 1, "rope": {"factor": 0}}', 'rope.factor is 0, but'],
  ['{"n_layer": 2, "eps": 1, "rope": {}}', 'rope.factor is missing'],
  ['{"n_layer": 2, "eps": 1, "rope": "x"}', 'rope is "x", but must be of the type object'],
])('%s', (text, words) => {
  expect(() => parse(text)).toThrow(words)
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-config-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('reads a file with a byte order mark and CRLF line ends', () => {
  writeFileSync(join(folder, 'config.json'), '\ufeff{\r\n"n_layer": 2\r\n}\r\n')
  expect(readConfig(folder).n_layer).toBe(2)
})

test('refuses UTF-16, other encodings and anything but an object', () => {
  const file = join(folder, 'config.json')
  writeFileSync(file, Buffer.from('\ufeff{}', 'utf16le'))
  expect(() => readConfig(folder)).toThrow('config.json is written in UTF-16')
  writeFileSync(file, Buffer.from([0x22, 0xff, 0x22]))
  expect(() => readConfig(folder)).toThrow('config.json is not UTF-8')
  writeFileSync(file, 'version https://git-lfs.github.com/spec/v1')
  expect(() => readConfig(folder)).toThrow('config.json is a Git LFS pointer')
  writeFileSync(file, '[]')
  expect(() => readConfig(folder)).toThrow('config.json holds []')
  writeFileSync(file, '')
  expect(() => readConfig(folder)).toThrow('config.json is empty')
})
