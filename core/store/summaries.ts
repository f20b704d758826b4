/**
 * Edges and thumbnails of one item, made in the pass that stores its patterns.
 * In: the float16 bits of one layer's heads, as they lie in the blob. Out: rows for edge_block and thumbnail.
 * Cost: about 1 ns per stored weight. Memory: 6 bytes per edge and 2 KB per head until the run is complete.
 */
import { entriesOf, type PatternLayout, rowLength, rowStart } from './codec.ts'
import { EDGE_WEIGHT, EdgeCollector, halfBits } from './edges.ts'
import { binsOf, packThumbnail, SIDE } from './thumbnails.ts'

const EDGE_BITS = halfBits(EDGE_WEIGHT)
const LARGEST = 0x7bff // 65,504: bits above it are infinity or NaN
const MINUS_INFINITY = -0x0400 // 0xfc00 as int16; NaNs with a sign lie between it and -1

export interface Summaries {
  /**
   * Looks at `heads` heads of one layer. False when a weight is not finite at float16, so that the caller keeps
   * these heads as float32; such a weight is no edge.
   */
  look(bits: Int16Array, layout: PatternLayout, layer: number, firstHead: number, heads: number): boolean
  readonly edges: EdgeCollector
  readonly rows: number
  readonly columns: number
  /** The thumbnails of all heads seen: triangles when every head was causal. */
  pack(): {
    readonly heads: readonly [layer: number, head: number][]
    readonly causal: boolean
    readonly data: Buffer
  }
}

/** Collects over the layers of one item and one kind of attention with fixed query and key lengths. */
export function collectSummaries(queries: number, keys: number): Summaries {
  const edges = new EdgeCollector()
  const places: [number, number][] = []
  const peaksOf: Int16Array[] = []
  let causal = true
  const rows = Math.min(queries, SIDE)
  const columns = Math.min(keys, SIDE)
  const rowBins = binsOf(queries)
  const columnBins = binsOf(keys)
  const columnEnds = Array.from({ length: columns }, (_, column) => columnBins.lastIndexOf(column) + 1)

  function look(bits: Int16Array, layout: PatternLayout, layer: number, firstHead: number, heads: number) {
    const size = entriesOf(layout)
    let finite = true
    causal &&= layout.codec !== 'full'
    for (let h = 0; h < heads; h++) {
      const peaks = new Int16Array(rows * columns)
      edges.beginHead(layer, firstHead + h)
      finite = lookAtHead(bits.subarray(h * size, (h + 1) * size), layout, peaks) && finite
      places.push([layer, firstHead + h])
      peaksOf.push(peaks)
    }
    return finite
  }

  /** Place by place: the largest bits first, and a second look only where an edge or a weight out of range is. */
  function lookAtHead(bits: Int16Array, layout: PatternLayout, peaks: Int16Array): boolean {
    let finite = true
    let at = 0
    for (let q = 0; q < layout.queries; q++) {
      const row = rowBins[q]! * columns
      let k = rowStart(layout, q)
      const rowEnd = k + rowLength(layout, q)
      while (k < rowEnd) {
        const column = columnBins[k]!
        const end = Math.min(rowEnd, columnEnds[column]!)
        const from = at
        let peak = -1
        let signs = 0
        for (; k < end; k++) {
          const b = bits[at++]!
          const less = peak - b
          peak -= less & (less >> 31) // the larger of both, without a branch that no processor can predict
          signs |= b
        }
        if (signs < 0 || peak > LARGEST) finite = within(bits, from, at) && finite
        if (peak >= EDGE_BITS) addEdges(bits, from, at, q, k)
        const top = peak <= LARGEST ? peak : largestOf(bits, from, at)
        if (top > peaks[row + column]!) peaks[row + column] = top
      }
    }
    return finite
  }

  /** The edges among weights from … to - 1 of row q; the last of them is key `end` - 1. */
  function addEdges(bits: Int16Array, from: number, to: number, q: number, end: number): void {
    for (let i = from; i < to; i++) {
      const b = bits[i]!
      if (b >= EDGE_BITS && b <= LARGEST) edges.add(q, end - (to - i), b)
    }
  }

  function pack() {
    const data = Buffer.concat(peaksOf.map((peaks) => packThumbnail(peaks, rows, columns, causal)))
    return { heads: places, causal, data }
  }

  return { look, edges, rows, columns, pack }
}

// --- Internal helpers ---

/** Whether all of these are finite. */
function within(bits: Int16Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const b = bits[i]!
    if (b > LARGEST || (b < 0 && b >= MINUS_INFINITY)) return false
  }
  return true
}

/** The largest finite weight's bits, or 0. */
function largestOf(bits: Int16Array, from: number, to: number): number {
  let largest = 0
  for (let i = from; i < to; i++) if (bits[i]! > largest && bits[i]! <= LARGEST) largest = bits[i]!
  return largest
}
