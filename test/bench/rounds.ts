/** Rounds of several works in turn, so that a noisy machine hits all of them alike; ratios are taken within a round. */

export interface Work {
  readonly name: string
  readonly run: () => Promise<unknown>
}

/** Median seconds of each work, and the median of its ratio, round by round, to the faster of `bases` (by its median). */
export async function rounds(works: readonly Work[], bases: readonly string[], count: number) {
  const seconds = new Map<string, number[]>(works.map((work) => [work.name, []]))
  for (const work of works) await work.run() // warm
  for (let round = 0; round < count; round++)
    for (let i = 0; i < works.length; i++) {
      const work = works[(i + round) % works.length]!
      const started = performance.now()
      await work.run()
      seconds.get(work.name)!.push((performance.now() - started) / 1000)
    }
  const [base] = bases.map((name) => seconds.get(name)!).sort((a, b) => median(a) - median(b))
  return works.map((work) => {
    const times = seconds.get(work.name)!
    return {
      work: work.name,
      seconds: round3(median(times)),
      ratio: round3(median(times.map((time, round) => time / base![round]!))),
    }
  })
}

/** Middle of the sorted values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

function round3(value: number): number {
  return Math.round(value * 1000) / 1000
}
