/**
 * The windows of a corpus as stored runs. In: prompts of a request. Out: windows with the text that names them, and the
 * numbers of their runs. A window that is there already, in this corpus or in the workspace, is not run again.
 */
import type { Model } from '../../run/model.ts'
import type { PromptInput } from '../contract.ts'
import { specSummary } from '../spec-summary.ts'
import { view } from './prompt-input.ts'
import type { Call } from './rpc.ts'
import { provenanceOf, storedCaptures } from './stored-run.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

export interface CorpusWindow {
  readonly ids: readonly number[]
  /** As it was given, or decoded without BOS where it is a part of a longer text; null for ids. */
  readonly text: string | null
}

/** Prompts (`ids`: as the model reads them) cut into windows of its context. */
export function corpusWindows(
  model: Model,
  prompts: readonly PromptInput[],
  ids: readonly (readonly number[])[],
  windowsOf: (model: Model, ids: readonly number[]) => number[][],
): CorpusWindow[] {
  return prompts.flatMap((prompt, i) => {
    const windows = windowsOf(model, ids[i]!)
    const given = prompt.ids ? null : ((prompt.decoder ?? prompt).text ?? null)
    return windows.map((ids) => ({ ids, text: windows.length === 1 ? given : given && plain(model, ids) }))
  })
}

/** Runs each window with its patterns and keeps it; the numbers of the runs, each once. */
export async function storeWindows(
  model: Model,
  windows: readonly CorpusWindow[],
  {
    workspace,
    call,
  }: {
    readonly workspace: Pick<WorkspaceWrites, 'storeRun' | 'cleanRuns'>
    readonly call: Pick<Call, 'signal' | 'progress'>
  },
): Promise<number[]> {
  const { signal } = call
  const spec = specSummary(model.spec)
  const capture = storedCaptures(spec, model.hooks)
  const { hash } = await model.contentHash()
  const known = new Map(workspace.cleanRuns(hash).map(({ run, ids }) => [ids.join(), run]))
  const runs = new Set<number>()
  const started = performance.now()
  for (const [done, { ids, text }] of windows.entries()) {
    const key = ids.join()
    const plan = {
      provenance: provenanceOf(model, capture, []),
      spec,
      items: [{ ids, text, tokens: view(model, ids) }],
    }
    const run =
      known.get(key) ??
      (await workspace.storeRun(model, plan, (onCapture) =>
        model.run([...ids], { capture, signal, onCapture }),
      ))
    known.set(key, run)
    runs.add(run)
    const each = (performance.now() - started) / 1000 / (done + 1)
    const total = windows.length
    call.progress({ done: done + 1, total, secondsLeft: each * (total - done - 1) })
  }
  return [...runs]
}

// --- Internal helpers ---

/** A window's text, without the BOS that stands in front of each. */
function plain({ tokenizer }: Model, ids: readonly number[]): string | null {
  if (!tokenizer) return null
  return tokenizer.decode(ids[0] === tokenizer.bosId ? ids.slice(1) : [...ids])
}
