import { expect, it } from 'vitest'
import { checkpointOf } from './drop.ts'

it('a dropped folder or GGUF file is opened itself, another file of a checkpoint means its folder', () => {
  for (const [dropped, opened] of [
    ['/models/a', '/models/a'],
    ['/models/a.b/q4.GGUF', '/models/a.b/q4.GGUF'],
    ['/models/a/model.safetensors', '/models/a'],
    ['C:\\models\\a\\config.json', 'C:\\models\\a'],
  ] as const)
    expect(checkpointOf(dropped)).toBe(opened)
})
