/**
 * What is changed in the head on the bench, as tab settings in the address. In: texts. Out: a part of the request, or
 * nothing when nothing is changed. Pure.
 */
import type { BenchEditRequest } from '../../../core/api/contract.ts'

export type Changes = Pick<BenchEditRequest, 'noMask' | 'noScale' | 'temperature' | 'typed'>
export type TypedScore = NonNullable<Changes['typed']>[number]

/** `5.3=1.25 6.0=-4`: query, key, score; what is not one is left out. */
export function parseTyped(text: string, length: number): TypedScore[] {
  return text.split(' ').flatMap((part) => {
    const match = /^(\d{1,6})\.(\d{1,6})=(-?[\d.]+(?:e-?\d+)?)$/i.exec(part)
    const [query, key, score] = [Number(match?.[1]), Number(match?.[2]), Number(match?.[3])]
    return match && query < length && key < length && Number.isFinite(score) ? [{ query, key, score }] : []
  })
}

export function formatTyped(typed: readonly TypedScore[]): string {
  return typed.map(({ query, key, score }) => `${query}.${key}=${score}`).join(' ')
}

/** One more typed score; the same pair again replaces it. */
export function withScore(typed: readonly TypedScore[], score: TypedScore): TypedScore[] {
  return [...withoutScore(typed, score), score]
}

export function withoutScore(typed: readonly TypedScore[], at: Omit<TypedScore, 'score'>): TypedScore[] {
  return typed.filter(({ query, key }) => query !== at.query || key !== at.key)
}

/** The changes that act, or null when the head runs as it is. */
export function changesOf(tool: Readonly<Record<string, string>>, length: number): Changes | null {
  const temperature = Number(tool.bench_tau || 1)
  const typed = parseTyped(tool.bench_typed ?? '', length)
  const changes: Changes = {
    ...(tool.bench_mask === 'off' ? { noMask: true } : {}),
    ...(tool.bench_scale === 'off' ? { noScale: true } : {}),
    ...(Number.isFinite(temperature) && temperature > 0 && temperature !== 1 ? { temperature } : {}),
    ...(typed.length > 0 ? { typed } : {}),
  }
  return Object.keys(changes).length > 0 ? changes : null
}
