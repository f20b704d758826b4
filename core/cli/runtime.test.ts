import { expect, it } from 'vitest'
import { requireRuntime, threadsOf } from './runtime.ts'

it('says in one sentence where models cannot be run', () => {
  expect(() => requireRuntime({ platform: 'darwin', arch: 'x64' })).toThrow(
    /^ONNX Runtime has no build for Macs with an Intel processor, so no model can be run here; inspect and sql work\.$/,
  )
  expect(() => requireRuntime({ platform: 'darwin', arch: 'arm64' })).not.toThrow()
})

it('checks the number of threads', () => {
  expect(threadsOf(undefined)).toEqual({})
  expect(threadsOf(2)).toEqual({ threads: 2 })
  expect(() => threadsOf(0)).toThrow(/--threads is 0/)
})
