/**
 * GPT-2 and Llama written by hand in float64, straight from a folder's safetensors: what edits are checked against. No
 * code of the engine is used but the file reader. Every hook can be recorded and changed entry by entry. One sequence
 * at a time; slow.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSafetensorsFile } from '../../core/checkpoint/index.ts'

/** Gives the value that takes the place of `value` at one entry of a hook; `index` is in the hook's axes, batch left out. */
export type Change = (hook: string, index: readonly number[], value: number) => number

export interface Reference {
  /** [pos][d_vocab] */
  readonly logits: readonly Float64Array[]
  /** A hook's entries in row-major order, as they stand after the change. */
  readonly hook: (name: string) => Float64Array
}

type Rows = Float64Array[] // [pos][width]
type Heads = Float64Array[][] // [pos][head][d_head]

interface Shape {
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly dHead: number
  readonly eps: number
}

/** Reads a folder once. `run` takes ids and a change. */
export function float64Model(folder: string) {
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'))
  const tensors = readSafetensorsFile(join(folder, 'model.safetensors'))
  const weight = (name: string): Float64Array => Float64Array.from(tensors.get(name)!.data as Float32Array)
  const run = config.model_type === 'gpt2' ? gpt2(config, weight) : llama(config, weight)
  return { run: (ids: readonly number[], change: Change = (_h, _i, value) => value) => run(ids, change) }
}

// --- Internal helpers ---

function createHooks(change: Change) {
  const recorded = new Map<string, number[]>()
  const begin = (name: string) => {
    const out: number[] = []
    recorded.set(name, out)
    return (index: number[], value: number) => {
      const changed = change(name, index, value)
      out.push(changed)
      return changed
    }
  }
  return {
    rows(name: string, x: Rows): Rows {
      const at = begin(name)
      return x.map((row, p) => row.map((value, d) => at([p, d], value)))
    },
    heads(name: string, x: Heads): Heads {
      const at = begin(name)
      return x.map((heads, p) => heads.map((row, h) => row.map((value, d) => at([p, h, d], value))))
    },
    /** [head][query][key] */
    square(name: string, x: Float64Array[][]): Float64Array[][] {
      const at = begin(name)
      return x.map((rows, h) => rows.map((row, q) => row.map((value, k) => at([h, q, k], value))))
    },
    of: (name: string) => Float64Array.from(recorded.get(name)!),
  }
}
type Hooks = ReturnType<typeof createHooks>

/** x W + b with W [in, out]. */
function timesInOut(x: Rows, w: Float64Array, bias: Float64Array | null): Rows {
  return x.map((row) => {
    const width = w.length / row.length
    return Float64Array.from({ length: width }, (_, o) => {
      let sum = bias ? bias[o]! : 0
      for (let i = 0; i < row.length; i++) sum += row[i]! * w[i * width + o]!
      return sum
    })
  })
}

/** x Wᵀ with W [out, in]. */
function timesOutIn(x: Rows, w: Float64Array): Rows {
  return x.map((row) => {
    return Float64Array.from({ length: w.length / row.length }, (_, o) => {
      let sum = 0
      for (let i = 0; i < row.length; i++) sum += row[i]! * w[o * row.length + i]!
      return sum
    })
  })
}

function split(x: Rows, heads: number): Heads {
  return x.map((row) => {
    const size = row.length / heads
    return Array.from({ length: heads }, (_, h) => row.slice(h * size, (h + 1) * size))
  })
}

function plus(a: Rows, b: Rows): Rows {
  return a.map((row, p) => row.map((value, d) => value + b[p]![d]!))
}

/** Scores, pattern and mixed values; hook_rot_q and hook_rot_k are what meets in the score. */
function attend(hooks: Hooks, at: string, q: Heads, k: Heads, v: Heads, shape: Shape): Rows {
  const { heads, kvHeads, dHead } = shape
  const group = heads / kvHeads
  const scores = Array.from({ length: heads }, (_, h) =>
    q.map((query, i) =>
      Float64Array.from(k, (key, j) => {
        if (j > i) return Number.NEGATIVE_INFINITY
        let sum = 0
        for (let d = 0; d < dHead; d++) sum += query[h]![d]! * key[Math.floor(h / group)]![d]!
        return sum / Math.sqrt(dHead)
      }),
    ),
  )
  const edited = hooks.square(`${at}hook_attn_scores`, scores)
  const pattern = hooks.square(
    `${at}hook_pattern`,
    edited.map((rows) =>
      rows.map((row) => {
        const largest = Math.max(...row)
        const raised = row.map((value) => Math.exp(value - largest))
        const sum = raised.reduce((total, value) => total + value, 0)
        return raised.map((value) => value / sum)
      }),
    ),
  )
  const mixed: Heads = q.map((_, i) =>
    Array.from({ length: heads }, (_, h) =>
      Float64Array.from({ length: dHead }, (_, d) => {
        let sum = 0
        for (let j = 0; j < v.length; j++) sum += pattern[h]![i]![j]! * v[j]![Math.floor(h / group)]![d]!
        return sum
      }),
    ),
  )
  const z = hooks.heads(`${at}hook_z`, mixed)
  return z.map((row) => Float64Array.from(row.flatMap((head) => [...head])))
}

function layerNorm(x: Rows, gain: Float64Array, bias: Float64Array, eps: number): Rows {
  return x.map((row) => {
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length
    return row.map((value, d) => ((value - mean) / Math.sqrt(variance + eps)) * gain[d]! + bias[d]!)
  })
}

function rmsNorm(x: Rows, gain: Float64Array, eps: number): Rows {
  return x.map((row) => {
    const square = row.reduce((sum, value) => sum + value * value, 0) / row.length
    return row.map((value, d) => (value / Math.sqrt(square + eps)) * gain[d]!)
  })
}

function geluNew(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
}

// biome-ignore lint/suspicious/noExplicitAny: a config of the reference library, read field by field
function gpt2(config: any, weight: (name: string) => Float64Array) {
  const shape: Shape = {
    layers: config.n_layer,
    heads: config.n_head,
    kvHeads: config.n_head,
    dHead: config.n_embd / config.n_head,
    eps: config.layer_norm_epsilon,
  }
  const width = config.n_embd as number
  const wte = weight('transformer.wte.weight')
  const wpe = weight('transformer.wpe.weight')
  const row = (matrix: Float64Array, i: number) => matrix.slice(i * width, (i + 1) * width)
  return (ids: readonly number[], change: Change): Reference => {
    const hooks = createHooks(change)
    const embed = hooks.rows(
      'hook_embed',
      ids.map((id) => row(wte, id)),
    )
    const places = hooks.rows(
      'hook_pos_embed',
      ids.map((_, p) => row(wpe, p)),
    )
    let resid = plus(embed, places)
    for (let l = 0; l < shape.layers; l++) {
      const t = (name: string) => weight(`transformer.h.${l}.${name}`)
      const at = `blocks.${l}.`
      resid = hooks.rows(`${at}hook_resid_pre`, resid)
      const first = layerNorm(resid, t('ln_1.weight'), t('ln_1.bias'), shape.eps)
      const joint = timesInOut(first, t('attn.c_attn.weight'), t('attn.c_attn.bias'))
      const part = (i: number) => joint.map((one) => one.slice(i * width, (i + 1) * width))
      const q = hooks.heads(`${at}attn.hook_q`, split(part(0), shape.heads))
      const k = hooks.heads(`${at}attn.hook_k`, split(part(1), shape.heads))
      const v = hooks.heads(`${at}attn.hook_v`, split(part(2), shape.heads))
      const rotQ = hooks.heads(`${at}attn.hook_rot_q`, q)
      const rotK = hooks.heads(`${at}attn.hook_rot_k`, k)
      const mixed = attend(hooks, `${at}attn.`, rotQ, rotK, v, shape)
      const out = timesInOut(mixed, t('attn.c_proj.weight'), t('attn.c_proj.bias'))
      resid = hooks.rows(`${at}hook_resid_mid`, plus(resid, hooks.rows(`${at}hook_attn_out`, out)))
      const second = layerNorm(resid, t('ln_2.weight'), t('ln_2.bias'), shape.eps)
      const pre = hooks.rows(
        `${at}mlp.hook_pre`,
        timesInOut(second, t('mlp.c_fc.weight'), t('mlp.c_fc.bias')),
      )
      const post = hooks.rows(
        `${at}mlp.hook_post`,
        pre.map((one) => one.map(geluNew)),
      )
      const mlp = timesInOut(post, t('mlp.c_proj.weight'), t('mlp.c_proj.bias'))
      resid = hooks.rows(`${at}hook_resid_post`, plus(resid, hooks.rows(`${at}hook_mlp_out`, mlp)))
    }
    const last = layerNorm(
      resid,
      weight('transformer.ln_f.weight'),
      weight('transformer.ln_f.bias'),
      shape.eps,
    )
    return { logits: timesOutIn(last, wte), hook: hooks.of }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a config of the reference library, read field by field
function llama(config: any, weight: (name: string) => Float64Array) {
  const shape: Shape = {
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    kvHeads: config.num_key_value_heads,
    dHead: config.head_dim,
    eps: config.rms_norm_eps,
  }
  const width = config.hidden_size as number
  const theta = config.rope_parameters.rope_theta as number
  const table = weight('model.embed_tokens.weight')
  const rotate = (x: Heads): Heads =>
    x.map((heads, p) =>
      heads.map((head) => {
        const half = head.length / 2
        return head.map((value, d) => {
          const angle = p * theta ** (-(2 * (d % half)) / head.length)
          const other = d < half ? -head[d + half]! : head[d - half]!
          return value * Math.cos(angle) + other * Math.sin(angle)
        })
      }),
    )
  return (ids: readonly number[], change: Change): Reference => {
    const hooks = createHooks(change)
    let resid = hooks.rows(
      'hook_embed',
      ids.map((id) => table.slice(id * width, (id + 1) * width)),
    )
    for (let l = 0; l < shape.layers; l++) {
      const t = (name: string) => weight(`model.layers.${l}.${name}.weight`)
      const at = `blocks.${l}.`
      resid = hooks.rows(`${at}hook_resid_pre`, resid)
      const first = rmsNorm(resid, t('input_layernorm'), shape.eps)
      const project = (name: string, heads: number) => split(timesOutIn(first, t(`self_attn.${name}`)), heads)
      const q = hooks.heads(`${at}attn.hook_q`, project('q_proj', shape.heads))
      const k = hooks.heads(`${at}attn.hook_k`, project('k_proj', shape.kvHeads))
      const v = hooks.heads(`${at}attn.hook_v`, project('v_proj', shape.kvHeads))
      const rotQ = hooks.heads(`${at}attn.hook_rot_q`, rotate(q))
      const rotK = hooks.heads(`${at}attn.hook_rot_k`, rotate(k))
      const mixed = attend(hooks, `${at}attn.`, rotQ, rotK, v, shape)
      const out = timesOutIn(mixed, t('self_attn.o_proj'))
      resid = hooks.rows(`${at}hook_resid_mid`, plus(resid, hooks.rows(`${at}hook_attn_out`, out)))
      const second = rmsNorm(resid, t('post_attention_layernorm'), shape.eps)
      const pre = hooks.rows(`${at}mlp.hook_pre`, timesOutIn(second, t('mlp.gate_proj')))
      const linear = hooks.rows(`${at}mlp.hook_pre_linear`, timesOutIn(second, t('mlp.up_proj')))
      const gated = pre.map((one, p) =>
        one.map((value, d) => (value / (1 + Math.exp(-value))) * linear[p]![d]!),
      )
      const post = hooks.rows(`${at}mlp.hook_post`, gated)
      const mlp = timesOutIn(post, t('mlp.down_proj'))
      resid = hooks.rows(`${at}hook_resid_post`, plus(resid, hooks.rows(`${at}hook_mlp_out`, mlp)))
    }
    const last = rmsNorm(resid, weight('model.norm.weight'), shape.eps)
    return { logits: timesOutIn(last, weight('lm_head.weight')), hook: hooks.of }
  }
}
