/**
 * The assignment of rows to columns with the largest total (Kuhn 1955, Munkres 1957; with potentials, O(n² m)). In: a
 * score per pair. Out: for each row its column, or -1 where there are fewer columns than rows.
 */

export function bestAssignment(score: readonly (readonly number[])[]): number[] {
  const rows = score.length
  const columns = score[0]?.length ?? 0
  if (rows === 0 || columns === 0) return score.map(() => -1)
  if (rows > columns) {
    const byColumn = bestAssignment(Array.from({ length: columns }, (_, j) => score.map((row) => row[j]!)))
    const result = score.map(() => -1)
    byColumn.forEach((row, column) => {
      result[row] = column
    })
    return result
  }
  // 1-based; column 0 is where each new row begins.
  const u = new Float64Array(rows + 1)
  const v = new Float64Array(columns + 1)
  const owner = new Int32Array(columns + 1)
  const way = new Int32Array(columns + 1)
  for (let row = 1; row <= rows; row++) {
    owner[0] = row
    const least = new Float64Array(columns + 1).fill(Number.POSITIVE_INFINITY)
    const used = new Uint8Array(columns + 1)
    let column = 0
    do {
      used[column] = 1
      const from = owner[column]!
      let step = Number.POSITIVE_INFINITY
      let next = 0
      for (let j = 1; j <= columns; j++) {
        if (used[j]) continue
        const cost = -score[from - 1]![j - 1]! - u[from]! - v[j]!
        if (cost < least[j]!) {
          least[j] = cost
          way[j] = column
        }
        if (least[j]! < step) {
          step = least[j]!
          next = j
        }
      }
      for (let j = 0; j <= columns; j++) {
        if (used[j]) {
          u[owner[j]!]! += step
          v[j]! -= step
        } else least[j]! -= step
      }
      column = next
    } while (owner[column] !== 0)
    while (column !== 0) {
      const previous = way[column]!
      owner[column] = owner[previous]!
      column = previous
    }
  }
  const result = new Array<number>(rows).fill(-1)
  for (let j = 1; j <= columns; j++) if (owner[j]! > 0) result[owner[j]! - 1] = j - 1
  return result
}
