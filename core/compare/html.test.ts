import { expect, test } from 'vitest'
import { escaped, tableHtml } from './html.ts'

test('nothing in a text is markup, and what steers is visible', () => {
  expect(escaped(`<a href='x'>"&`)).toBe('&lt;a href=&#39;x&#39;&gt;&quot;&amp;')
  expect(escaped('a\u0000\u202eb')).toBe('a&lt;00&gt;&lt;202E&gt;b')
  expect(tableHtml(['<b>'], [['<i>', { html: '<code>1</code>' }]])).toBe(
    '<table><thead><tr><th>&lt;b&gt;</th></tr></thead><tbody><tr><td>&lt;i&gt;</td><td><code>1</code></td></tr></tbody></table>',
  )
})
