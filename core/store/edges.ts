/**
 * Edges: the weights of 0.2 or more of one item, packed so that a search over thousands of prompts reads little.
 * In: (layer, head, query, key, weight) in that order. Out: one blob per item and kind of attention; and back.
 *   uint32 count of heads; per head uint32 layer, head, first edge; then columns weight (float16 bits, which
 *   order like the weights themselves), query and key (uint8, uint16 or uint32, as the longest position needs).
 * Why not a row per edge: rows indexed by token touch a page per edge when a prompt is written, and 10,000 prompts of
 * 64 tokens would be 15 million of them. Packed they are 4 bytes each (6 beyond 256 tokens), appended, and read at 100 million a second.
 */
/// <reference lib="esnext.float16" />
import { aligned, bytesOf } from './codec.ts'

/** Weights at or above this are kept as edges. */
export const EDGE_WEIGHT = 0.2

/** The float16 bits of a non-negative threshold. Weights are compared at float16 everywhere, stored or not. */
export function halfBits(value: number): number {
  return new Uint16Array(Float16Array.of(value).buffer)[0]!
}

const toHalf = new Float16Array(1)
const toBits = new Uint16Array(toHalf.buffer)

/** The number that float16 bits stand for. */
export function fromHalfBits(bits: number): number {
  toBits[0] = bits
  return toHalf[0]!
}

type Positions = Uint8Array | Uint16Array | Uint32Array

/** Edges by column. */
export interface EdgeBlock {
  /** How many heads, and per head: layer, head, first edge. A head ends where the next begins. */
  readonly heads: number
  readonly directory: Uint32Array
  readonly edges: number
  readonly query: Positions
  readonly key: Positions
  readonly weight: Uint16Array // float16 bits
}

/** The edges of the block's head `i` are those before this one, from `directory[3 i + 2]` on. */
export function endOfHead(block: EdgeBlock, i: number): number {
  return i + 1 < block.heads ? block.directory[3 * i + 5]! : block.edges
}

/** Collects the edges of one item, head after head. */
export class EdgeCollector {
  count = 0
  query = new Uint32Array(1024)
  key = new Uint32Array(1024)
  weight = new Uint16Array(1024)
  readonly #directory: number[] = []

  /** Edges added from now on belong to this head. */
  beginHead(layer: number, head: number): void {
    this.#directory.push(layer, head, this.count)
  }

  add(query: number, key: number, bits: number): void {
    if (this.count === this.query.length) this.#grow()
    this.query[this.count] = query
    this.key[this.count] = key
    this.weight[this.count++] = bits
  }

  /** The blob, and how many bytes a position takes when the longest axis has `positions` places. */
  pack(positions: number): { data: Buffer; width: number } {
    const width = positions <= 0x100 ? 1 : positions <= 0x10000 ? 2 : 4
    const directory = Uint32Array.of(this.#directory.length / 3, ...this.#directory)
    const weight = this.weight.subarray(0, this.count)
    const columns = [this.query, this.key].map((column) =>
      positionsOf(width).from(column.subarray(0, this.count)),
    )
    // Padded to whole words, so that columns of any width begin where their type may.
    const padding = Buffer.alloc((this.count % 2) * 2)
    return { data: Buffer.concat([directory, weight, padding, ...columns].map(bytesOf)), width }
  }

  #grow(): void {
    const query = new Uint32Array(this.count * 2)
    const key = new Uint32Array(this.count * 2)
    const weight = new Uint16Array(this.count * 2)
    query.set(this.query)
    key.set(this.key)
    weight.set(this.weight)
    this.query = query
    this.key = key
    this.weight = weight
  }
}

/** Columns of a stored block, without copying where memory allows. */
export function unpackEdges(blob: Uint8Array, edges: number, width: number): EdgeBlock {
  const data = aligned(blob, 4)
  const buffer = data.buffer as ArrayBuffer
  const heads = new Uint32Array(buffer, data.byteOffset, 1)[0]!
  const directory = new Uint32Array(buffer, data.byteOffset + 4, 3 * heads)
  const weight = data.byteOffset + 4 + 12 * heads
  const query = weight + 2 * (edges + (edges % 2))
  const kind = positionsOf(width)
  return {
    heads,
    directory,
    edges,
    query: new kind(buffer, query, edges),
    key: new kind(buffer, query + edges * width, edges),
    weight: new Uint16Array(buffer, weight, edges),
  }
}

// --- Internal helpers ---

function positionsOf(width: number): Uint8ArrayConstructor | Uint16ArrayConstructor | Uint32ArrayConstructor {
  return width === 1 ? Uint8Array : width === 2 ? Uint16Array : Uint32Array
}
