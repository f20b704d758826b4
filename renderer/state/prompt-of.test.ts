import { describe, expect, it } from 'vitest'
import { editsOf, promptOf, promptWith } from './prompt-of.ts'

const views = (...ids: number[]) => ids.map((id) => ({ id, text: String(id), special: false, group: null }))

describe('a run as a request', () => {
  it('is its tokens', () => {
    expect(promptOf({ views: views(1, 2) })).toEqual({ ids: [1, 2] })
    expect(promptWith({}, [3])).toEqual({ ids: [3] })
  })

  it('of an encoder–decoder is both texts', () => {
    const run = { views: views(0, 4), source: views(7, 8, 9) }
    expect(promptOf(run)).toEqual({ ids: [7, 8, 9], decoder: { ids: [0, 4] } })
    expect(promptWith(run, [0, 5])).toEqual({ ids: [7, 8, 9], decoder: { ids: [0, 5] } })
  })

  it('names heads of the decoder where two stacks could be meant', () => {
    const own = { hook: 'blocks.1.attn.hook_z', head: 2, op: 'zero' } as const
    const cross = { hook: 'decoder.blocks.1.cross_attn.hook_z', op: 'zero' } as const
    expect(editsOf({}, [own])).toEqual([own])
    expect(editsOf({ source: views(7) }, [own, cross])).toEqual([
      { ...own, hook: 'decoder.blocks.1.attn.hook_z' },
      cross,
    ])
  })
})
