import { describe, expect, it } from 'vitest'
import { editChoices } from './edit-choices.ts'
import {
  ablateHead,
  actingEdits,
  describeEdit,
  formatEdits,
  knockOut,
  movedEdit,
  parseEdits,
  withEdit,
  withoutEdit,
} from './edits.ts'

const zero = ablateHead({ layer: 1, head: 3 })
const cut = knockOut({ layer: 1, head: 7 }, 36, 7)

describe('active edits', () => {
  it('adds once, switches on again, moves and takes out', () => {
    const two = withEdit(withEdit([], zero), cut)
    expect(withEdit(two, { op: 'zero', head: 3, hook: zero.hook })).toHaveLength(2) // the order of keys says nothing
    const off = two.map((active, i) => ({ ...active, on: i === 1 }))
    expect(actingEdits(off)).toEqual([cut])
    expect(actingEdits(withEdit(off, zero))).toEqual([zero, cut])
    expect(movedEdit(two, 1, -1).map((a) => a.edit)).toEqual([cut, zero])
    expect(movedEdit(two, 0, -1)).toEqual(two)
    expect(withoutEdit(two, zero).map((a) => a.edit)).toEqual([cut])
  })

  it('says what an edit does', () => {
    expect(describeEdit(zero)).toBe('zero L1H3')
    expect(describeEdit(cut)).toBe('cut L1H7 36→7')
    expect(describeEdit({ hook: 'blocks.0.hook_resid_pre', pos: 5, op: 'zero' })).toBe(
      'zero L0 resid_pre at 5',
    )
    expect(describeEdit({ hook: 'blocks.2.hook_mlp_out', op: 'scale', by: 0.5 })).toBe('× 0.5 L2 mlp_out')
    expect(describeEdit({ hook: 'blocks.2.attn.hook_z', op: 'zero' })).toBe('zero L2 z')
    const mean = [{ text: 'a' }, { ids: [5] }]
    expect(describeEdit({ hook: 'blocks.2.hook_mlp_out', op: 'set', from: { mean } })).toBe(
      'set mean of 2 texts L2 mlp_out',
    )
    expect(describeEdit({ hook: 'blocks.1.cross_attn.hook_z', head: 3, op: 'zero' })).toBe('zero L1H3 cross')
    expect(describeEdit({ hook: 'decoder.blocks.0.cross_attn.hook_z', pos: 2, op: 'zero' })).toBe(
      'zero L0 cross z at 2',
    )
    expect(describeEdit({ hook: 'hook_embed', op: 'set', from: { run: 3 }, pos: '2:4' })).toBe(
      'set from run 3 hook_embed at 2:4',
    )
  })

  it('survives the address; what is no edit is left out', () => {
    const stack = [
      { edit: zero, on: false, name: 'the copier' },
      { edit: cut, on: true, name: null },
    ]
    expect(parseEdits(formatEdits(stack))).toEqual(stack)
    expect(formatEdits([])).toBeNull()
    expect(parseEdits('[{"hook":3,"op":"zero"},{"hook":"x","op":"boil"},null,7]')).toEqual([])
    expect(parseEdits('not json')).toEqual([])
  })
})

describe('groups and windows of layers', () => {
  it('names key/value heads as such, and every layer', () => {
    expect(describeEdit({ hook: 'blocks.5.attn.hook_v', kv_head: 1, pos: 3, op: 'zero' })).toBe(
      'zero L5 K/V 1 v at 3',
    )
    expect(
      describeEdit({ hook: 'blocks.*.attn.hook_attn_scores', query: 7, key: 3, op: 'set', value: '-inf' }),
    ).toBe('cut every layer 7→3')
    const labels = editChoices({ head: { layer: 5, head: 4 }, query: 7, key: 3, group: 3, layers: 8 })
    expect(labels.find(({ edit }) => edit.kv_head === 1)?.label).toBe(
      'Zero the value of 3 for L5H3, L5H4, L5H5, which share it',
    )
  })
})
