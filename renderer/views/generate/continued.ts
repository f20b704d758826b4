/** A continuation that grows. In: replies of the engine. Out: the text so far, and whether the cache changes a number. Pure. */
import type { GenerateReply, GenerateRequest } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'

export interface NewToken {
  readonly token: TokenView
  /** log p, nats, decoded with the cache. */
  readonly logProb: number
  /** The same without one; null where that is not computed. */
  readonly uncached: number | null
}

export interface Continued {
  readonly prompt: readonly TokenView[]
  readonly tokens: readonly NewToken[]
  readonly stopped: GenerateReply['stopped']
  readonly cacheBytes: number
  /** What gives all of it at once; null for draws that went on from one another. */
  readonly request: GenerateRequest | null
}

/** What is there, followed by what a request for more has brought. */
export function continued(
  before: Continued | null,
  reply: GenerateReply,
  request: GenerateRequest,
): Continued {
  const fresh = reply.tokens.map((token, i) => ({
    token,
    logProb: reply.log_probs[i]!,
    uncached: reply.uncached?.[i] ?? null,
  }))
  const tokens = [...(before?.tokens ?? []), ...fresh]
  const greedy = !request.temperature && !before?.request?.temperature
  const whole =
    before === null ? request : greedy && before.request && { ...before.request, max: tokens.length }
  return {
    prompt: before?.prompt ?? reply.prompt,
    tokens,
    stopped: reply.stopped,
    cacheBytes: reply.cache_bytes,
    request: whole || null,
  }
}

export function idsOf({ prompt, tokens }: Continued): number[] {
  return [...prompt.map(({ id }) => id), ...tokens.map(({ token }) => token.id)]
}

/** Largest |log p cached - log p uncached|, nats; null where nothing can be compared. */
export function cacheError(tokens: readonly NewToken[]): number | null {
  const errors = tokens.flatMap(({ logProb, uncached }) =>
    uncached === null ? [] : [Math.abs(logProb - uncached)],
  )
  return errors.length > 0 ? Math.max(...errors) : null
}
