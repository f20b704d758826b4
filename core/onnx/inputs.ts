/**
 * What a graph wants to be fed, by what its inputs are called: tokens, mask, positions, past keys and values. In: the
 * graph's inputs and the ids of one prompt. Out: arrays and shapes. An input that nobody knows is refused by name.
 */
import { type GraphProto, TensorProto_DataType, type ValueInfoProto } from 'onnx-buf'
import { HeadscopeError } from '../errors.ts'

export type ElementType = 'float32' | 'float16' | 'int64' | 'int32' | 'bool'

export interface OnnxFeed {
  readonly type: ElementType
  readonly data: Float32Array | Uint16Array | BigInt64Array | Int32Array | Uint8Array
  readonly shape: readonly number[]
}

const TYPES = new Map<number, ElementType>([
  [TensorProto_DataType.FLOAT, 'float32'],
  [TensorProto_DataType.FLOAT16, 'float16'],
  [TensorProto_DataType.INT64, 'int64'],
  [TensorProto_DataType.INT32, 'int32'],
  [TensorProto_DataType.BOOL, 'bool'],
])

interface Input {
  readonly name: string
  readonly type: ElementType
  readonly dims: readonly (number | string)[]
}

export interface Feeder {
  /** Tokens of a prompt, where the graph takes one length only. */
  readonly length: number | null
  /** The feeds of one prompt, or of its rows after `past`. Throws `bad-prompt` for another length than a fixed one. */
  feeds(ids: readonly number[], past?: OnnxPast): Map<string, OnnxFeed>
  /** Inputs of past keys and values, and the output that holds each for the next step; empty where one has none. */
  readonly past: readonly { readonly input: string; readonly output: string }[]
}

/** What a graph handed out of the rows before. */
export interface OnnxPast {
  readonly rows: number
  /** Keys and values by the name of their input. */
  readonly tensors: ReadonlyMap<string, OnnxFeed>
}

/** Reads the inputs once. Throws `unsupported` naming the file and the input. */
export function feederOf(graph: GraphProto, file: string): Feeder {
  const weights = new Set(graph.initializer.map((tensor) => tensor.name))
  const inputs = graph.input.filter((input) => !weights.has(input.name)).map((input) => inputOf(input, file))
  const tokens =
    inputs.find(({ name }) => /^(decoder_)?input_ids$|^tokens$/.test(name)) ??
    inputs.find(({ type, dims }) => dims.length === 2 && /^int/.test(type))
  if (!tokens)
    throw new HeadscopeError(
      'unsupported',
      `${file} has no input of token ids (its inputs are ${inputs.map(({ name }) => name).join(', ') || 'none'}); export the decoder with input_ids, or open a folder with config.json and model.safetensors.`,
    )
  const [batch, length] = tokens.dims
  if (tokens.dims.length !== 2 || (typeof batch === 'number' && batch !== 1))
    throw new HeadscopeError(
      'unsupported',
      `${file}: ${tokens.name} has the shape [${tokens.dims.join(', ')}], but one prompt at a time is [batch, sequence]; export it with dynamic axes.`,
    )
  for (const input of inputs) if (input !== tokens) arrayOf(input, 1, file, null) // what is not known is refused now
  const feeds = (ids: readonly number[], past: OnnxPast | null = null) => {
    if (typeof length === 'number' && length !== ids.length)
      throw new HeadscopeError(
        'bad-prompt',
        `${file} takes exactly ${length} tokens, but the prompt has ${ids.length}; export it with dynamic axes, or give a prompt of that length.`,
      )
    return new Map(
      inputs.map((input) => [
        input.name,
        input === tokens
          ? feedOf(input, [1, ids.length], (i) => ids[i]!)
          : arrayOf(input, ids.length, file, past),
      ]),
    )
  }
  return {
    length: typeof length === 'number' ? length : null,
    feeds,
    past: pastOf(
      inputs.filter(isPast).map(({ name }) => name),
      graph.output.map(({ name }) => name),
    ),
  }
}

// --- Internal helpers ---

function inputOf(info: ValueInfoProto, file: string): Input {
  const tensor = info.type?.value.case === 'tensorType' ? info.type.value.value : null
  const type = tensor ? TYPES.get(tensor.elemType) : undefined
  if (!tensor || !type)
    throw new HeadscopeError(
      'unsupported',
      `${file}: the input ${info.name} is of a type that is not fed (float, half, int64, int32 and bool are); export it again.`,
    )
  const dims = (tensor.shape?.dim ?? []).map(({ value }) =>
    value.case === 'dimValue' ? Number(value.value) : (value.value ?? ''),
  )
  return { name: info.name, type, dims }
}

/** The array of an input beside the tokens, for `rows` tokens after what is past. */
function arrayOf(input: Input, rows: number, file: string, past: OnnxPast | null): OnnxFeed {
  const { name, dims } = input
  const start = past?.rows ?? 0
  if (isPast(input)) return past?.tensors.get(name) ?? feedOf(input, pastShape(input, file), () => 0)
  if (/attention_mask/.test(name) && dims.length === 2) return feedOf(input, [1, start + rows], () => 1)
  if (/position_ids/.test(name) && dims.length <= 2)
    return feedOf(input, dims.length === 2 ? [1, rows] : [rows], (i) => start + i)
  if (name === 'cache_position') return feedOf(input, [rows], (i) => start + i)
  if (/token_type_ids/.test(name)) return feedOf(input, [1, rows], () => 0)
  if (/^use_cache/.test(name)) return feedOf(input, dims.length === 0 ? [] : [1], () => (past ? 1 : 0))
  throw new HeadscopeError(
    'unsupported',
    `${file} wants the input ${name} [${dims.join(', ')}], which is none of input_ids, attention_mask, position_ids, token_type_ids, cache_position and past keys and values; export it with those.`,
  )
}

function isPast({ name, dims }: Input): boolean {
  return /^past_|past_key_values|^pkv|\bpast\b|cache_(k|v|key|value)/.test(name) && dims.length >= 3
}

/** Which output is which past of the next step, by name: `past_key_values.0.key` and `present.0.key`. */
function pastOf(inputs: readonly string[], outputs: readonly string[]): Feeder['past'] {
  const pairs = inputs.flatMap((input) => {
    const names = [
      input.replace(/past(_key_values)?/, 'present'),
      input.replace(/past_key_values/, 'present_key_values'),
      input.replace(/^past_/, ''),
      `${input}_out`,
    ]
    const output = names.find((name) => name !== input && outputs.includes(name))
    return output === undefined ? [] : [{ input, output }]
  })
  return pairs.length === inputs.length ? pairs : []
}

/** Past keys and values of length 0: the symbolic axis that is not the batch (its name says past, or it comes late). */
function pastShape({ name, dims }: Input, file: string): number[] {
  const symbolic = dims.flatMap((dim, i) => (typeof dim === 'string' ? [i] : []))
  const named = symbolic.find((i) => /past|cache|total/.test(dims[i] as string))
  const past = named ?? symbolic.filter((i) => !/batch/.test(dims[i] as string) && i > 0).at(-1)
  const others = symbolic.filter((i) => i !== past && i !== 0 && !/batch/.test(dims[i] as string))
  if (past === undefined || others.length > 0)
    throw new HeadscopeError(
      'unsupported',
      `${file}: the input ${name} has the shape [${dims.join(', ')}], in which no one axis is the past; export it with a dynamic past length.`,
    )
  return dims.map((dim, i) => (i === past ? 0 : typeof dim === 'number' ? dim : 1))
}

function feedOf(input: Input, shape: readonly number[], value: (i: number) => number): OnnxFeed {
  const size = shape.reduce((product, n) => product * n, 1)
  const values = Array.from({ length: size }, (_, i) => value(i))
  return { type: input.type, shape, data: typed(input.type, values) }
}

function typed(type: ElementType, values: readonly number[]): OnnxFeed['data'] {
  switch (type) {
    case 'int64':
      return BigInt64Array.from(values, BigInt)
    case 'int32':
      return Int32Array.from(values)
    case 'bool':
      return Uint8Array.from(values)
    case 'float16': // only zeros and ones are fed as halves
      return Uint16Array.from(values, (value) => (value === 0 ? 0 : 0x3c00))
    default:
      return Float32Array.from(values)
  }
}
