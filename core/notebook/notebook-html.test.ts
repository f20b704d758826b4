import { describe, expect, test } from 'vitest'
import { notebookHtml } from './notebook-html.ts'
import { parseCsv } from './parse-csv.ts'

const svg =
  '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><image href="http://x.example/a"/></svg>'
const figure = {
  title: 'L1H7 <img src=x onerror=alert(1)>',
  svg,
  csv: 'token,value\n"<b>a""b</b>",1\n"line\nend",\n',
  provenance: ['checkpoint m (0123)', 'prompt “</p><script>alert(2)</script>”'],
  state: 'model=m&tab=pattern',
  command: "headscope run m --text '<i>'",
  script: 'const a = 1\nconst b = "</pre>"',
  note: 'First.\n\nSecond <img src=x onerror=alert(3)>\nline',
  created: '2026-01-02T03:04:05.000Z',
}

describe('the exported notebook', () => {
  const html = notebookHtml({
    headscope: '1.2.3',
    created: '2026-01-02',
    figures: [figure, { ...figure, csv: null, command: null }],
  })

  test('has no element that a text or a figure could bring: those of the page are the only ones', () => {
    expect(html).not.toMatch(/<script|<image|<iframe|<i>|<b>a/i)
    expect(html.match(/<img [^>]*>/g)!.every((tag) => /src="data:image\/svg\+xml;base64,/.test(tag))).toBe(
      true,
    )
    expect(html.match(/<img /g)).toHaveLength(2)
    expect(html).toContain('&lt;img src=x onerror=alert(3)&gt;')
  })

  test('loads nothing: every address is a piece of the page or is embedded, and its policy says so', () => {
    const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1]!)
    expect(addresses.every((one) => /^(?:#f\d+$|data:(?:image\/svg\+xml|text\/csv);base64,)/.test(one))).toBe(
      true,
    )
    expect(html).toContain(`content="default-src 'none'; img-src data:; style-src 'unsafe-inline'"`)
    expect(html).not.toMatch(/url\(|@import/)
  })

  test('holds each figure, its numbers, its note and where it comes from', () => {
    const embedded = /<img [^>]*src="data:image\/svg\+xml;base64,([^"]*)"/.exec(html)![1]!
    expect(Buffer.from(embedded, 'base64').toString()).toBe(svg)
    const csv = /href="data:text\/csv;base64,([^"]*)"/.exec(html)![1]!
    expect(Buffer.from(csv, 'base64').toString()).toBe(figure.csv)
    expect(html).toContain('<td>&lt;b&gt;a&quot;b&lt;/b&gt;</td><td>1</td>')
    expect(html).toContain('<p>First.</p><p>Second &lt;img src=x onerror=alert(3)&gt;<br>line</p>')
    expect(html).toContain('checkpoint m (0123)<br>')
    expect(html).toContain('<pre>#model=m&amp;tab=pattern</pre>')
    expect(html).toContain('<pre>const a = 1\nconst b = &quot;&lt;/pre&gt;&quot;</pre>')
    expect(html).toContain('Its numbers are more rows than a notebook keeps')
  })

  test('of an empty notebook says so by its count', () => {
    expect(notebookHtml({ headscope: '1', created: '', figures: [] })).toContain('0 figures')
  })
})

test.each([
  [
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  ['"a,""b""\n",\r\n', [['a,"b"\n', '']]],
  ['a', [['a']]],
  ['', []],
])('CSV %j', (text, rows) => {
  expect(parseCsv(text)).toEqual(rows)
})

test('no more rows are read than asked for', () => {
  expect(parseCsv('a\nb\nc\n', 2)).toEqual([['a'], ['b']])
})
