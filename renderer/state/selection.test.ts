import { expect, test } from 'vitest'
import {
  EMPTY,
  formatSelection,
  heldHead,
  nextAlong,
  parseHead,
  parseSelection,
  type Selection,
  walked,
} from './selection.ts'

test('a selection comes back from its address', () => {
  const selection: Selection = {
    model: '/data/my models/a&b=c',
    run: 12,
    tab: 'pattern',
    head: { layer: 5, head: 11 },
    query: 7,
    key: 0,
    score: 'previous_token',
    tiles: 'scores',
    filter: 'induction > .5',
    log: true,
    bos: 'renormalise',
    edits: [
      { edit: { hook: 'blocks.5.attn.hook_z', head: 11, op: 'zero' }, on: true, name: null },
      { edit: { hook: 'blocks.0.hook_resid_pre', pos: 3, op: 'scale', by: 2 }, on: false, name: 'a & b' },
    ],
    compare: 'difference',
    held: { run: 3, head: { layer: 0, head: 2 } },
    form: 'arcs',
    also: [4, 9],
    tool: { corrupt: 'a = b & c', site: 'z' },
    theme: 'dark',
  }
  expect(parseSelection(`#${formatSelection(selection)}`)).toEqual(selection)
})

test('a held run that follows the selected head', () => {
  const at = { ...EMPTY, head: { layer: 1, head: 2 }, held: { run: 3, head: null } }
  expect(parseSelection(formatSelection(at)).held).toEqual({ run: 3, head: null })
  expect(heldHead(at)).toEqual({ layer: 1, head: 2 })
  expect(heldHead({ ...at, held: { run: 3, head: { layer: 0, head: 0 } } })).toEqual({ layer: 0, head: 0 })
  expect(heldHead(EMPTY)).toBeNull()
})

test('a walk goes on where its last step went, up to the last head', () => {
  const spec = { n_layers: 2, n_heads: 4 }
  const at = (layer: number, head: number) => ({ layer, head })
  expect(nextAlong(at(0, 1), at(0, 2), spec)).toEqual(at(0, 3))
  expect(nextAlong(at(1, 2), at(1, 1), spec)).toEqual(at(1, 0))
  expect(nextAlong(at(0, 2), at(0, 3), spec)).toBeNull()
  expect(nextAlong(at(0, 2), at(1, 2), spec)).toBeNull()
  expect(nextAlong(at(0, 0), at(1, 1), spec)).toBeNull() // a jump
  expect(nextAlong(at(1, 1), at(1, 1), spec)).toBeNull()
})

test('an empty address is the empty selection, and the other way round', () => {
  expect(parseSelection('')).toEqual(EMPTY)
  expect(formatSelection(EMPTY)).toBe('')
})

test('an address from before the stack of edits still ablates its head', () => {
  expect(parseSelection('#head=L1H3&ablate=zero').edits).toEqual([
    { edit: { hook: 'blocks.1.attn.hook_z', head: 3, op: 'zero' }, on: true, name: null },
  ])
})

test('broken values are left out', () => {
  const parsed = parseSelection(
    '#run=-3&head=L1&query=x&key=1e9&bos=never&theme=blue&tab=&edits=[{]&held=x.y&also=a.-1&form=cube',
  )
  expect(parsed).toEqual(EMPTY)
})

test('heads are read as L5H1 and 5.1', () => {
  expect(parseHead('L5H1')).toEqual({ layer: 5, head: 1 })
  expect(parseHead(' l5 h12 ')).toEqual({ layer: 5, head: 12 })
  expect(parseHead('5.1')).toEqual({ layer: 5, head: 1 })
  expect(parseHead('5')).toBeNull()
})

test('arrow keys walk: up is a higher layer, and the edges hold', () => {
  const spec = { n_layers: 2, n_heads: 3 }
  const at = (layer: number, head: number) => ({ layer, head })
  expect(walked('ArrowUp', at(0, 1), spec)).toEqual(at(1, 1))
  expect(walked('ArrowUp', at(1, 1), spec)).toEqual(at(1, 1))
  expect(walked('ArrowLeft', at(1, 0), spec)).toEqual(at(1, 0))
  expect(walked('ArrowRight', null, spec)).toEqual(at(0, 0))
  expect(walked('a', at(0, 0), spec)).toBeNull()
})
