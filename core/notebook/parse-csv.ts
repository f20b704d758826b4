/** CSV as rows of fields (RFC 4180: quoted fields may hold commas, line ends and doubled quotes). In: text. Out: at most `most` rows. Pure. */
export function parseCsv(text: string, most = Number.POSITIVE_INFINITY): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let field = ''
  let quoted = false
  const endField = () => {
    row.push(field)
    field = ''
  }
  for (let i = 0; i < text.length && rows.length < most; i++) {
    const char = text[i]!
    if (quoted) {
      if (char !== '"') field += char
      else if (text[i + 1] === '"') {
        field += '"'
        i++
      } else quoted = false
    } else if (char === '"') quoted = true
    else if (char === ',') endField()
    else if (char === '\n') {
      endField()
      rows.push(row)
      row = []
    } else if (char !== '\r') field += char
  }
  if (rows.length < most && (field !== '' || row.length > 0)) {
    endField()
    rows.push(row)
  }
  return rows
}
