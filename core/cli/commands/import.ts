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

      { importCapture: importing },
      { specSummary },
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../store.ts'),
      import('../../store/capture-store.ts'),
      import('../model-facts.ts'),
      import('../../exchange/import.ts'),
      import('../../api/spec-summary.ts'),
    ])
    const chosen = await chooseModel(values.model, values.at, place)
    const model = await openChosen(chosen, values, call)
    try {
      const path = storePath({ store: values.store, 'no-store': false })!
      const store = openStore(path)
      let done: Awaited<ReturnType<typeof importing>>
      try {
        done = await importing(store, model, positionals[0]!, specSummary(model.spec))
      } finally {
        store.close()
      }
      const { run, hooks, prompts } = done
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      const all = [...warnings, ...done.warnings]
      if (out.json)
        out.document({ model: known, run, hooks, store: path, file: resolve(positionals[0]!), warnings: all })
      else {
        out.line(`${hooks.length} hooks of ${prompts} prompts stored as run ${run} in ${path}`)
        out.warn(all)
      }
      return 0
    } finally {
      await model.close()
    }
  },
})
