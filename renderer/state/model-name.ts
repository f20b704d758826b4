/** What a checkpoint is called: its own name, or its series and the step. In: the library and an address. Pure. */
import type { Library } from '../../core/api/contract.ts'

export interface ModelName {
  readonly name: string
  /** `step 832`; null outside a series. */
  readonly step: string | null
}

/** `fallback` names what the library does not list. */
export function modelName(library: Library | undefined, path: string, fallback: string): ModelName {
  for (const model of library?.models ?? []) {
    if (model.path === path) return { name: model.name, step: null }
    const member = model.series.find((one) => one.path === path)
    if (member) return { name: model.name, step: member.at.replace(/^step(?=\d)/, 'step ') }
  }
  return { name: fallback, step: null }
}

/** The same as one text: `induction-2l · step 832`. */
export function modelTitle(library: Library | undefined, path: string, fallback: string): string {
  const { name, step } = modelName(library, path, fallback)
  return step === null ? name : `${name} · ${step}`
}

/** A checkpoint with the beginning of its hash, once that is known: `induction-2l (a3949c04905f)`. */
export function nameWithHash(name: string, contentHash: string | null): string {
  return contentHash ? `${name} (${contentHash.slice(0, 12)})` : name
}

/** A member of a series `by` places further on. The series' own folder holds its last step. */
export function memberBeside<T extends { readonly path: string }>(
  series: readonly T[],
  path: string,
  by: number,
): T | undefined {
  const at = series.findIndex((member) => member.path === path)
  return series[(at < 0 ? series.length - 1 : at) + by]
}
