import { describe, expect, it } from 'vitest'
import { LEVELS, rampPixels, signedPixels } from '../../charts/color.ts'
import { difference, extent, matrixPixels, transposed } from './matrix.ts'

describe('a matrix', () => {
  it('is transposed: rows become columns', () => {
    expect(transposed({ shape: [2, 3], values: [1, 2, 3, 4, 5, null] })).toEqual({
      shape: [3, 2],
      values: [1, 4, 2, 5, 3, null],
    })
  })

  it('has no difference where a cell does not exist', () => {
    expect(
      difference({ shape: [1, 3], values: [3, 2, null] }, { shape: [1, 3], values: [1, null, 1] }).values,
    ).toEqual([2, null, null])
  })

  it('is coloured to its 99th percentile, so that one outlier does not bleach the rest', () => {
    const values = Array.from({ length: 1000 }, (_, n) => (n === 0 ? 100 : n % 2 ? 1 : -1))
    expect(extent(values)).toEqual({ largest: 100, end: 1 })
    expect(extent([null])).toEqual({ largest: 0, end: 0 })
    expect(extent([0, 0, 0, -2])).toEqual({ largest: 2, end: 2 })
  })

  it('is painted signed or as weights; what does not exist stays transparent', () => {
    const signed = signedPixels('light')
    expect([...matrixPixels([0, 9, -9, null], 'signed', 3, 'light')]).toEqual([
      signed[LEVELS - 1],
      signed[2 * LEVELS - 2],
      signed[0],
      0,
    ])
    const ramp = rampPixels('dark')
    expect([...matrixPixels([0, 1], 'weight', 1, 'dark')]).toEqual([ramp[0], ramp[LEVELS - 1]])
  })
})
