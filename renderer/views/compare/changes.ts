/** Heads by how much they changed. In: compared heads. Out: rows, largest first; what is within the noise comes last. Pure. */
import type { CompareReply } from '../../../core/api/contract.ts'

type ComparedHead = CompareReply['heads'][number]

export interface Change {
  readonly layer: number
  readonly head: number
  /** null: it does not exist; `why` says so. */
  readonly value: number | null
  readonly low: number | null
  readonly high: number | null
  /** Beyond the noise. A distance has no noise of its own: it is of the same texts. */
  readonly clear: boolean
  readonly why: string | null
}

/** `distance`, `ov` or `qk`, or the name of a score. */
export function changesBy(reply: Pick<CompareReply, 'heads' | 'weights'>, measure: string): Change[] {
  return reply.heads
    .map((head) => changeOf(head, reply.weights, measure))
    .sort(
      (x, y) =>
        Number(y.clear) - Number(x.clear) ||
        Math.abs(y.value ?? 0) - Math.abs(x.value ?? 0) ||
        x.layer - y.layer ||
        x.head - y.head,
    )
}

function changeOf(head: ComparedHead, weights: CompareReply['weights'], measure: string): Change {
  const place = { layer: head.layer, head: head.head }
  if (measure === 'distance')
    return {
      ...place,
      value: head.pattern_distance,
      low: head.pattern_interval?.low ?? null,
      high: head.pattern_interval?.high ?? null,
      clear: head.pattern_distance !== null && head.pattern_distance > 0,
      why: head.why ?? null,
    }
  if (measure === 'ov' || measure === 'qk') {
    const maps = weights?.find((one) => one.layer === head.layer && one.head === head.head)?.[measure]
    const value = maps?.distance ?? null
    return {
      ...place,
      value,
      low: null,
      high: null,
      clear: value !== null && value > 0,
      why: maps?.why ?? null,
    }
  }
  const delta = head.deltas[measure]
  return {
    ...place,
    value: delta?.value ?? null,
    low: delta?.low ?? null,
    high: delta?.high ?? null,
    clear: delta?.clear ?? false,
    why: delta?.why ?? null,
  }
}
