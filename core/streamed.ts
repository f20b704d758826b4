/**
 * A long call whose parts can be read as they come. In: a call that takes `onCells` among its last options. Out: the
 * same call, whose promise is also an async iterable of these parts. Costs nothing when nobody iterates.
 */

/** A result that is awaited whole, or iterated part by part. */
export type Streamed<C, R> = Promise<R> & AsyncIterable<C>

interface Telling<C> {
  readonly signal?: AbortSignal
  readonly onCells?: (cells: readonly C[]) => void
}

type CellOf<O> = O extends { readonly onCells?: (cells: readonly (infer C)[]) => void } ? C : never

/**
 * Wraps `call`. The work starts at once; iterating gives every part in order, throws what the call throws, and leaving
 * the loop early cancels the work. `await` on the same value gives the whole result.
 */
export function streamed<P extends readonly unknown[], O extends Telling<never>, R>(
  call: (...args: [...P, O]) => Promise<R>,
): (...args: [...P, O]) => Streamed<CellOf<O>, R> {
  return (...args) => {
    type C = CellOf<O>
    const options = args.at(-1) as O & Telling<C>
    const left = new AbortController()
    const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal
    const parts: C[] = []
    const waiting = new Set<() => void>()
    const wake = () => {
      for (const go of waiting) go()
      waiting.clear()
    }
    const onCells = (cells: readonly C[]) => {
      options.onCells?.(cells)
      parts.push(...cells)
      wake()
    }
    const own = [...args.slice(0, -1), { ...options, signal, onCells }] as unknown as [...P, O]
    const whole = call(...own)

    async function* iterate(): AsyncGenerator<C> {
      let next = 0
      let ended = false
      const end = () => {
        ended = true
        wake()
      }
      whole.then(end, end)
      try {
        for (;;) {
          while (next < parts.length) yield parts[next++]!
          if (ended) break
          await new Promise<void>((go) => waiting.add(go))
        }
        await whole
      } finally {
        if (!ended) {
          left.abort()
          await whole.catch(() => {}) // nothing of it runs on when the loop is left
        }
      }
    }
    return Object.assign(whole, { [Symbol.asyncIterator]: iterate })
  }
}
