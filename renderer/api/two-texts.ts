/** The three attentions of an encoder and its decoder: patterns and thumbnails of a stored run, gradients on a pattern. */
import { useQuery } from '@tanstack/react-query'
import type { GridReply, PatternGradientReply, PatternGradientRequest } from '../../core/api/contract.ts'
import type { AttentionOf } from '../../core/graph/hook-names.ts'
import type { HeadId } from '../state/selection.ts'
import { post, request, type Thumbnails } from './client.ts'
import { HALF } from './pattern.ts'

/** Weights of one head, [query, key]; null where a query does not see a key. */
export function useTextPattern(run: number, of: AttentionOf, head: HeadId | null) {
  return useQuery({
    queryKey: ['text-pattern', run, of, head?.layer, head?.head],
    queryFn: () => fetchGrid(run, of, head!),
    enabled: head !== null,
    retry: false,
  })
}

export function useTextThumbnails(run: number, of: AttentionOf) {
  return useQuery({
    queryKey: ['text-thumbnails', run, of],
    queryFn: async (): Promise<Thumbnails> => {
      const response = await request(`/api/runs/${run}/thumbnails?of=${of}`)
      const [layers = 0, heads = 0] = JSON.parse(
        response.headers.get('x-headscope-shape') ?? '[]',
      ) as number[]
      return { layers, heads, bytes: new Uint8Array(await response.arrayBuffer()), full: of !== 'decoder' }
    },
  })
}

export function patternGradient(
  body: PatternGradientRequest,
  signal?: AbortSignal,
): Promise<PatternGradientReply> {
  return post('/api/bench/pattern-gradient', body, signal)
}

/** Reads a stored pattern of any shape. Throws when the length does not fit it. */
export function decodeGrid(headers: { get(name: string): string | null }, bytes: ArrayBuffer): GridReply {
  const [rows = 0, columns = 0] = JSON.parse(headers.get('x-headscope-shape') ?? '[]') as number[]
  const stored =
    headers.get('x-headscope-dtype') === 'f16'
      ? Float32Array.from(new Uint16Array(bytes), (code) => HALF[code]!)
      : new Float32Array(bytes)
  const triangle = headers.get('x-headscope-codec') === 'tri'
  const expected = triangle ? (rows * (rows + 1)) / 2 : rows * columns
  if (stored.length !== expected)
    throw new Error(`pattern: ${stored.length} weights for ${rows} × ${columns}, expected ${expected}.`)
  const values = Array.from({ length: rows * columns }, (_, n): number | null => {
    const [row, column] = [Math.floor(n / columns), n % columns]
    if (!triangle) return stored[n]!
    return column > row ? null : stored[(row * (row + 1)) / 2 + column]!
  })
  return { shape: [rows, columns], values }
}

// --- Internal helpers ---

async function fetchGrid(run: number, of: AttentionOf, { layer, head }: HeadId): Promise<GridReply> {
  const response = await request(`/api/runs/${run}/pattern?layer=${layer}&head=${head}&of=${of}`)
  return decodeGrid(response.headers, await response.arrayBuffer())
}
