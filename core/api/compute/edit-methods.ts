/**
 * Keeps a stack of edits as an experiment. In: a prompt and the stack. Out: its number; the plan has both, the result what
 * the model says at the last position without and with the edits that act. Costs one forward, or two with edits.
 */
import type * as headscope from '../../index.ts'
import { versions } from '../../run/versions.ts'
import type { EditStackRequest } from '../contract.ts'
import { EDITS_KIND, type EditStackPlan } from '../edit-plan.ts'
import type { Engine } from './engine.ts'
import type { ModelCache } from './model-cache.ts'
import { predict } from './predict.ts'
import { idsOf, view } from './prompt-input.ts'
import type { Call } from './rpc.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** Likeliest tokens that are kept on both sides. */
const SHOWN = 10

interface Parts {
  readonly engine: Pick<Engine<headscope.Model>, 'decoderIds' | 'summary'>
  readonly models: ModelCache<headscope.Model>
  readonly workspace: Pick<WorkspaceWrites, 'experiments' | 'openRun'>
}

/** Makes the table. */
export function createEditMethods({ engine, models, workspace }: Parts) {
  return {
    /** Throws what a run with these edits throws; then nothing is kept. */
    keepEdits: (request: EditStackRequest, { signal }: Call): Promise<{ id: number }> =>
      models.use(request.model, async (opened) => {
        const { prompt, edits: stack, name } = request
        const ids = idsOf(opened, prompt)
        const own = engine.decoderIds(opened, prompt.decoder)
        const edits = stack.filter(({ on }) => on).map(({ edit }) => edit)
        const asked = {
          ids,
          length: (own ?? ids).length,
          edits,
          pos: -1,
          positions: [-1],
          view: (id: number) => view(opened, [id])[0]!,
        }
        const { openRun } = workspace
        const reads = own ? { decoderIds: [own] } : {}
        const result = await predict(opened, asked, { ...reads, top: SHOWN, openRun, signal })
        const { hash: contentHash } = await opened.contentHash()
        const spec = engine.summary(opened)
        const checkpoint = { contentHash, path: opened.path, name: opened.name, family: spec.family, spec }
        const plan: EditStackPlan = { request, tokens: view(opened, own ?? ids), versions }
        const cells = stack.map((value, i) => ({ key: String(i), value }))
        const id = workspace.experiments.keepExperiment({
          kind: EDITS_KIND,
          name,
          checkpoint,
          plan,
          cells,
          result,
        })
        return { id }
      }),
  }
}
