/** `headscope verify MODEL`: is this checkpoint run right? Costs about a dozen forwards of a dozen tokens. */
import { command, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, METRIC_OPTIONS, MODEL_OPTIONS, UNSTORED_OPTIONS } from '../options.ts'
import { table } from '../table.ts'

export const verify = command({
  name: 'verify',
  usage: 'MODEL [options]',
  summary: 'Runs the identities that hold on every correct run, and compares with reference values',
  detail:
    'The identities say "self-consistent"; only --golden says "matches a reference". Exit 3 when a check fails.',
  examples: [
    'headscope verify induction-2l',
    'headscope verify ./my-model --golden golden.safetensors',
    'headscope verify ./my-model --golden golden.safetensors --answer-id 5 --wrong-id 9',
  ],
  options: {
    ...MODEL_OPTIONS,
    golden: {
      type: 'text',
      value: 'F.safetensors',
      help: 'reference values of any hooks, with their input_ids; grad.<hook> are gradients',
    },
    ...METRIC_OPTIONS,
    ...UNSTORED_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out } = call
    const { golden } = values
    const named = [values.metric, values.answer, values.wrong, values['answer-id'], values['wrong-id']]
    const hasMetric = named.some((one) => one !== undefined)
    if (hasMetric && golden === undefined)
      throw new UsageError(
        'a metric says what the gradients of a reference are of, so name the file with --golden',
      )
    const metric = hasMetric ? (await import('../sweep-command.ts')).givenMetric(values) : null
    const [{ chooseModel }, { openChosen }, { modelFacts, headline }] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../model-facts.ts'),
    ])
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const model = await openChosen(chosen, values, call)
    try {
      const analysis = await import('../../analysis/verify/index.ts')
      const { checks, ok } = await analysis.verify(model, {
        ...(golden === undefined ? {} : { golden }),
        ...(metric ? { metric } : {}),
        signal: call.signal,
        onProgress: call.progress('verify'),
      })
      const facts = await modelFacts(model, chosen)
      if (out.json) out.document({ model: facts.model, checks, ok, warnings: facts.warnings })
      else {
        const { style } = out
        const rows = checks.map((check) => [
          check.ok === null
            ? { text: '–', paint: style.dim }
            : check.ok
              ? { text: 'ok', paint: style.green }
              : { text: 'FAILS', paint: style.red },
          check.name,
          check.max_error === null ? '' : check.max_error.toExponential(1),
          check.ok === null || check.max_error === null ? '' : check.tolerance.toExponential(0),
          { text: check.why ?? '', paint: style.dim },
        ])
        const columns = [
          { title: '' },
          { title: 'check' },
          { title: 'error', right: true },
          { title: 'allowed', right: true },
          { title: '' },
        ]
        out.line(headline(model, chosen, values.at !== undefined, style))
        out.line()
        for (const line of table(columns, rows, style.bold)) out.line(line)
        out.line()
        const compared = checks.every(({ ok: held, name }) => held !== null || !name.startsWith('grad.'))
        const matches = compared
          ? 'matches the reference'
          : 'matches the values of the reference; its gradients are not compared: name their metric'
        const good = golden === undefined ? 'Self-consistent.' : `Self-consistent, and ${matches}.`
        const failed = checks.filter((check) => check.ok === false).length
        out.line(ok ? style.green(good) : style.red(`${failed} of ${checks.length} checks fail.`))
        out.warn(facts.warnings)
      }
      return ok ? 0 : 3
    } finally {
      await model.close()
    }
  },
})
