/** Which texts are read: the bundled prose, a paste or a file. Shared by the tabs that read many texts. */
import { useQuery } from '@tanstack/react-query'
import { useMemo, useSyncExternalStore } from 'react'
import type { PromptInput } from '../../../core/api/contract.ts'
import { createStore } from '../../state/store.ts'
import { size } from '../../ui/sizes.ts'
import { parseTexts } from './texts.ts'

export interface Source {
  readonly kind: 'prose' | 'pasted' | 'file'
  readonly pasted: string
  readonly file: { readonly name: string; readonly content: string } | null
  /** Why the last file was not taken. */
  readonly problem: string | null
  /** Texts that are read, from the first on. */
  readonly most: number
}

export interface Texts {
  readonly prompts: readonly PromptInput[]
  /** How many there are, of which `prompts` are the first. */
  readonly total: number
  readonly problem: string | null
  readonly loading: boolean
}

const LARGEST_FILE = 64 * 2 ** 20
const source = createStore<Source>({ kind: 'prose', pasted: '', file: null, problem: null, most: 100 })

export function useSource(): Source {
  return useSyncExternalStore(source.subscribe, source.get)
}

export function setSource(change: Partial<Source>): void {
  source.set({ ...source.get(), problem: null, ...change })
}

/** Reads a file in the page: nothing is uploaded or kept on disk. */
export async function takeFile(file: File): Promise<void> {
  if (!/\.(txt|jsonl)$/i.test(file.name))
    return setSource({ problem: `${file.name} is not a .txt (one text a line) or .jsonl file.` })
  if (file.size > LARGEST_FILE)
    return setSource({
      problem: `${file.name} has ${size(file.size)}, and the page reads at most ${size(LARGEST_FILE)}; use headscope spans --prompts.`,
    })
  setSource({ kind: 'file', file: { name: file.name, content: await file.text() } })
}

/** The chosen texts, at most `source.most`. */
export function useTexts(): Texts {
  const { kind, pasted, file, problem, most } = useSource()
  const prose = useQuery({
    queryKey: ['prose-sample'],
    queryFn: async () => (await import('../../../models/prose-sample.txt?raw')).default,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: kind === 'prose',
    retry: 1,
  })
  const content = kind === 'prose' ? prose.data : kind === 'pasted' ? pasted : file?.content
  const jsonl = kind === 'file' && file !== null && /\.jsonl$/i.test(file.name)
  return useMemo(() => {
    const failed =
      kind === 'prose' && prose.isError ? 'The bundled prose could not be read; reload the page.' : null
    const loading = kind === 'prose' && content === undefined && failed === null
    const nothing = { prompts: [], total: 0, problem: problem ?? failed, loading }
    try {
      const all = parseTexts(content ?? '', jsonl)
      return { ...nothing, prompts: all.slice(0, most), total: all.length }
    } catch (error) {
      return { ...nothing, problem: (error as Error).message }
    }
  }, [content, jsonl, kind, most, problem, prose.isError])
}
