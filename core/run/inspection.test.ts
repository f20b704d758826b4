import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cacheBytes, inspectPath } from './inspection.ts'

const model = join(import.meta.dirname, '..', '..', 'models', 'induction-2l')

it('does not load ONNX Runtime', () => {
  const script = `
    const { inspectPath } = await import(${JSON.stringify(join(import.meta.dirname, 'inspection.ts'))})
    if (inspectPath(${JSON.stringify(model)}).spec.dModel !== 128) throw new Error('not inspected')
    console.log(process.report.getReport().sharedObjects.join('\\n'))`
  const loaded = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(loaded).toMatch(/libc|node/)
  expect(loaded).not.toMatch(/onnxruntime/)
})

it('lets the cache of windowed layers stop growing', () => {
  const { spec, cacheBytesPerToken } = inspectPath(model)
  expect(cacheBytes(spec, 1000)).toBe(1000 * cacheBytesPerToken)
  const [first, second] = spec.stacks[0]!.layers
  const windowed = { ...spec, stacks: [{ ...spec.stacks[0]!, layers: [{ ...first!, window: 16 }, second!] }] }
  expect(cacheBytes(windowed, 1000)).toBe((cacheBytesPerToken / 2) * (16 + 1000))
})
