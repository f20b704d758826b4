import { expect, test } from 'vitest'
import { drawFigure, type Figure, provenanceLines, type Source, wrapped } from './figure.ts'
import { withDensity } from './figure-png.ts'
import { escapeXml, rectAt } from './svg.ts'

const source: Source = {
  checkpoints: [{ name: 'm <b>', hash: '0123456789abcdef' }],
  run: {
    id: 3,
    text: 'a\n</text><script>alert(1)</script>\u0000',
    tokens: 5,
    device: 'cpu',
    edits: ['zero L1H7'],
  },
}
const figure: Figure = {
  title: 'pattern of L1H7',
  note: 'rows are queries',
  facts: ['n = 32, seed 1'],
  body: () => ({ width: 900, height: 40, markup: rectAt(0, 0, 900, 40, '#fff', { title: '"&' }) }),
  table: () => ({ columns: [], rows: [] }),
  reproduce: null,
}

test('a figure says its title, axes, checkpoint, hash, prompt, edits, n, seed and version, and stays XML', async () => {
  const drawn = await drawFigure(figure, source, '1.2.3')
  const parsed = new DOMParser().parseFromString(drawn.svg, 'image/svg+xml')
  expect(parsed.querySelector('parsererror, script')).toBeNull()
  const text = parsed.documentElement.textContent
  for (const part of [
    'm <b>: pattern of L1H7',
    'rows are queries',
    'checkpoint m <b> (0123456789ab) · run 3, 5 tokens, float32 on cpu · Headscope 1.2.3',
    'prompt “a⏎</text><script>alert(1)</script>␀”',
    'with edits: zero L1H7',
    'n = 32, seed 1',
  ])
    expect(text).toContain(part)
  expect([drawn.width, parsed.documentElement.getAttribute('width')]).toEqual([924, '924'])
})

test('what is not of a run names no run; a hash that is not there yet is said', () => {
  const lines = provenanceLines({ checkpoints: [{ name: 'm', hash: null }], run: null }, ['', 'seed 2'], '1')
  expect(lines).toEqual(['checkpoint m (not hashed yet) · Headscope 1', 'seed 2'])
})

test('lines are broken at spaces, else anywhere but inside a pair', () => {
  expect(wrapped('one two three', 8)).toEqual(['one two', 'three'])
  expect(wrapped('😀😀😀', 3)).toEqual(['😀😀', '😀'])
  expect(wrapped('a\nb', 10)).toEqual(['a⏎b'])
})

test('XML takes what it could not hold as something visible', () => {
  expect(escapeXml('\u0000\t\u202e\ud800<&"\'>')).toBe('␀␉\ufffd\ufffd&lt;&amp;&quot;&#39;&gt;')
})

test('a PNG says its dots an inch: pHYs behind the header, with its checksum', () => {
  const png = Uint8Array.from({ length: 60 }, (_, i) => i)
  const out = withDensity(png, 300)
  // The chunk of 300 dpi as other encoders write it: 11811 dots a metre, CRC 78 a5 3f 76.
  const chunk = [
    0, 0, 0, 9, 0x70, 0x48, 0x59, 0x73, 0, 0, 0x2e, 0x23, 0, 0, 0x2e, 0x23, 1, 0x78, 0xa5, 0x3f, 0x76,
  ]
  expect([...out]).toEqual([...png.subarray(0, 33), ...chunk, ...png.subarray(33)])
})
