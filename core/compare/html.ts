/** Text into HTML: nothing of it is markup, and control characters are visible. */

export function escaped(text: string): string {
  return text
    .replace(
      /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
      (c) => `<${c.codePointAt(0)!.toString(16).padStart(2, '0').toUpperCase()}>`,
    )
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;')
}

/** A table; cells that are `{html}` are markup already. */
export function tableHtml(
  titles: readonly string[],
  rows: readonly (readonly (string | { readonly html: string })[])[],
): string {
  const head = titles.map((title) => `<th>${escaped(title)}</th>`).join('')
  const body = rows.map(
    (row) =>
      `<tr>${row.map((cell) => `<td>${typeof cell === 'string' ? escaped(cell) : cell.html}</td>`).join('')}</tr>`,
  )
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`
}
