/** `headscope inspect MODEL`: what a checkpoint is, without running it. Costs its headers and one pass for the hash. */
import { onnxFileOf } from '../../onnx/find.ts'
import { command, UsageError } from '../command.ts'
import { MODEL_OPTIONS, UNSTORED_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { bytes, grouped, table } from '../table.ts'

export const inspect = command({
  name: 'inspect',
  usage: 'MODEL [options]',
  summary: 'What a checkpoint is, without running it: sizes, parameters, cache, hooks, warnings',
  detail: 'A lone config.json is enough to count parameters and cache.',
  examples: [
    'headscope inspect induction-2l',
    'headscope inspect path/to/config.json --tokens 2048',
    "headscope inspect induction-2l --json | jq '.hooks[].name'",
  ],
  options: {
    ...MODEL_OPTIONS,
    tokens: { type: 'whole', value: 'T', help: 'also the key/value cache of T tokens' },
    hooks: { type: 'flag', help: 'list every hook with its shape' },
    ...UNSTORED_OPTIONS,
  },
  takes: [1, 1],
  async run({ values, positionals, place, out }) {
    const { tokens, at } = values
    if (tokens !== undefined && tokens < 1)
      throw new UsageError(`--tokens is ${tokens}, but must be 1 or more`)
    const [{ chooseModel, titleOf }, { cacheBytes, inspectPath }, { specSummary }, { nonFiniteWarnings }] =
      await Promise.all([
        import('../models.ts'),
        import('../../run/inspection.ts'),
        import('../../api/spec-summary.ts'),
        import('../../checkpoint/non-finite.ts'),
      ])
    const chosen = await chooseModel(positionals[0]!, at, place)
    const onnx = onnxFileOf(chosen.path)
    if (onnx) {
      const { inspectOnnx } = await import('../onnx-inspection.ts')
      inspectOnnx(onnx, titleOf(chosen, at !== undefined), values.hooks, out)
      return 0
    }
    const found = inspectPath(chosen.path)
    const content = (await found.contentHash?.()) ?? null
    const warnings = [...found.warnings, ...(content ? nonFiniteWarnings(content) : [])]
    const spec = specSummary(found.spec)
    const cache = {
      kv_cache_bytes_per_token: found.cacheBytesPerToken,
      ...(tokens === undefined ? {} : { kv_cache_bytes: cacheBytes(found.spec, tokens) }),
    }
    if (out.json) {
      const hash = content
        ? { hash: content.hash }
        : { hash: null, why: 'a config alone has no weights to hash' }
      out.document({
        model: {
          path: found.path,
          ...hash,
          family: spec.family,
          ...(chosen.at === null ? {} : { at: chosen.at }),
        },
        family: spec.family,
        spec,
        parameters: found.parameters,
        ...cache,
        hooks: found.hooks.map(({ name, shape }) => ({ name, shape })),
        warnings,
      })
      return 0
    }

    out.line(`${out.style.bold(titleOf(chosen, at !== undefined))}  ${out.style.dim(found.path)}`)
    out.line()
    const tokenizer = found.checkpoint?.tokenizer
    facts(out, [
      ['family', spec.family],
      ['layers', `${spec.n_layers}${spec.parallel ? ', attention and MLP in parallel' : ''}`],
      ['heads', heads(spec)],
      ['d_model, d_mlp', `${grouped(spec.d_model)}, ${grouped(spec.d_mlp)} (${spec.act})`],
      ['norm', spec.norm],
      ['positions', `${spec.positional}, ${grouped(spec.n_ctx)}`],
      [
        'vocabulary',
        `${grouped(spec.d_vocab)}, ${spec.tied ? 'unembedding tied to the embedding' : 'own unembedding'}`,
      ],
      ...(found.checkpoint
        ? ([
            [
              'tokenizer',
              tokenizer
                ? `${grouped(tokenizer.vocabSize)} tokens, beginning of text ${tokenizer.bosToken ?? 'none'}${tokenizer.bosToken === null ? '' : tokenizer.addsBos ? ' (put before a text)' : ' (not put before a text)'}`
                : 'none',
            ],
            ['content hash', content!.hash],
          ] as [string, string][])
        : []),
    ])
    out.line()
    const { total, ...parts } = found.parameters
    const rows = Object.entries(parts).map(([name, count]) => [
      name.replace('_', ' '),
      grouped(count),
      name === 'per_head' || total === 0 ? '' : `${((100 * count) / total).toFixed(1)} %`,
    ])
    const columns = [
      { title: 'parameters' },
      { title: grouped(total), right: true },
      { title: '', right: true },
    ]
    for (const line of table(columns, rows, out.style.bold)) out.line(line)
    out.line()
    const sized =
      tokens === undefined ? '' : `; ${bytes(cache.kv_cache_bytes!)} for ${grouped(tokens)} tokens`
    facts(out, [['key/value cache', `${bytes(cache.kv_cache_bytes_per_token)} per token, float32${sized}`]])
    if (values.hooks) {
      out.line()
      const hooks = found.hooks.map(({ name, shape }) => [name, `[${shape.join(', ')}]`])
      for (const line of table([{ title: 'hook' }, { title: 'shape' }], hooks, out.style.bold)) out.line(line)
    } else facts(out, [['hooks', `${found.hooks.length} (--hooks lists them)`]])
    out.warn(warnings)
    return 0
  },
})

// --- Internal helpers ---

function facts(out: Output, rows: readonly (readonly [string, string])[]): void {
  for (const [name, value] of rows) out.line(`${out.style.dim(name.padEnd(15))}  ${value}`)
}

function heads({
  n_heads,
  n_kv_heads,
  d_head,
}: {
  n_heads: number
  n_kv_heads: number
  d_head: number
}): string {
  const shared = n_kv_heads === n_heads ? '' : ` on ${n_kv_heads} key/value heads`
  return `${n_heads}${shared}, d_head ${d_head}`
}
