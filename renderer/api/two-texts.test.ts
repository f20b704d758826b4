import { describe, expect, it } from 'vitest'
import { decodeGrid } from './two-texts.ts'

const headers = (shape: number[], codec: string, dtype: string) => ({
  get: (name: string) =>
    ({ 'x-headscope-shape': JSON.stringify(shape), 'x-headscope-codec': codec, 'x-headscope-dtype': dtype })[
      name
    ] ?? null,
})

describe('a stored pattern', () => {
  it('of a decoder over a text is a rectangle', () => {
    const bytes = Uint16Array.of(0x3c00, 0, 0, 0x3800, 0x3400, 0x3400).buffer // 1 0 0, 0.5 0.25 0.25
    expect(decodeGrid(headers([2, 3], 'full', 'f16'), bytes)).toEqual({
      shape: [2, 3],
      values: [1, 0, 0, 0.5, 0.25, 0.25],
    })
  })

  it('of a decoder itself has nothing above the diagonal', () => {
    const bytes = Float32Array.of(1, 0.25, 0.75).buffer
    expect(decodeGrid(headers([2, 2], 'tri', 'f32'), bytes).values).toEqual([1, null, 0.25, 0.75])
  })

  it('that does not fit its shape is refused', () => {
    expect(() => decodeGrid(headers([2, 3], 'full', 'f32'), new ArrayBuffer(8))).toThrow('expected 6')
  })
})
