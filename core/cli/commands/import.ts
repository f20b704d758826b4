/** `headscope import FILE --model MODEL`: captures made elsewhere become a run in the workspace. Nothing is computed. */
import { resolve } from 'node:path'
import { command, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, MODEL_OPTIONS } from '../options.ts'

export const importCapture = command({
  name: 'import',
  usage: 'FILE --model MODEL [options]',
  summary: 'A capture made elsewhere (safetensors with hook names and input_ids) becomes a stored run',
  detail:
    'Tensors are named as hooks (blocks.0.attn.hook_pattern), with input_ids [batch, pos] and, for unequal prompts, attention_mask beside them. Predictions are stored where the file has logits.',
  examples: ['headscope import capture.safetensors --model ./gpt2'],
  options: {
    model: { type: 'text', value: 'MODEL', help: 'the checkpoint that the capture is of' },
    ...MODEL_OPTIONS,
    store: { type: 'text', value: 'FILE', help: 'workspace that keeps it (default: the user’s)' },
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out } = call
    if (values.model === undefined)
      throw new UsageError('import needs --model: the checkpoint that the capture is of')
    const [
      { chooseModel },
      { openChosen },
      { storePath },
      { openStore },
      facts,
      { viewsOf },
      { readCapture },
      { specSummary },
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../store.ts'),
      import('../../store/capture-store.ts'),
      import('../model-facts.ts'),
      import('../prompts.ts'),
      import('../../exchange/import.ts'),
      import('../../api/spec-summary.ts'),
    ])
    const chosen = await chooseModel(values.model, values.at, place)
    const model = await openChosen(chosen, values, call)
    try {
      const capture = readCapture(model, positionals[0]!)
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      const path = storePath({ store: values.store, 'no-store': false })!
      const store = openStore(path)
      let run: number
      try {
        const writer = store.beginRun({
          provenance: capture.provenance,
          spec: specSummary(model.spec),
          items: capture.ids.map((ids) => ({ ids, tokens: viewsOf(model, ids) })),
          warnings: capture.warnings,
        })
        try {
          for (const [hook, tensor] of capture.tensors) writer.write(hook, tensor)
          run = writer.complete({ items: capture.items, contentHash: known.hash })
        } catch (error) {
          writer.abort()
          throw error
        }
      } finally {
        store.close()
      }
      const all = [...warnings, ...capture.warnings]
      const hooks = [...capture.tensors.keys()]
      if (out.json)
        out.document({ model: known, run, hooks, store: path, file: resolve(positionals[0]!), warnings: all })
      else {
        out.line(`${hooks.length} hooks of ${capture.ids.length} prompts stored as run ${run} in ${path}`)
        out.warn(all)
      }
      return 0
    } finally {
      await model.close()
    }
  },
})
