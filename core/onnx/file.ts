/**
 * An ONNX file made by others: read, checked, and given more outputs. In: a path. Out: its graph, where its weights lie,
 * and bytes with the wanted tensors as outputs. The file itself is never written. Costs its size in memory once.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, normalize } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type GraphProto,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  TensorProto_DataLocation,
  ValueInfoProtoSchema,
} from 'onnx-buf'
import { HeadscopeError, sentence } from '../errors.ts'

/** Versions of the standard operators that are read. */
const OPSETS = { first: 13, last: 25 } as const

export interface OnnxFile {
  /** Real path of the file, its folder, and what a person calls it. */
  readonly path: string
  readonly folder: string
  readonly name: string
  readonly bytes: Uint8Array
  /** What the bytes say; its graph is `graph`. */
  readonly model: ModelProto
  readonly graph: GraphProto
  readonly opset: number
  /** Who wrote it: 'pytorch 2.15.0'. */
  readonly producer: string
  /** Files beside it that hold weights. */
  readonly external: readonly string[]
}

/** Throws `bad-checkpoint` or `unsupported` naming the file and the rule. */
export function readOnnx(path: string): OnnxFile {
  const name = basename(path)
  const { real, bytes } = readWhole(path, name)
  let model: ReturnType<typeof parse>
  try {
    model = parse(bytes)
  } catch (error) {
    throw new HeadscopeError(
      'bad-checkpoint',
      `${name} is not an ONNX file, or it is damaged (${sentence(error)}); export or download it again.`,
      { cause: error },
    )
  }
  const { graph } = model
  if (!graph || graph.node.length === 0)
    throw new HeadscopeError(
      'bad-checkpoint',
      `${name} holds no graph, so it is not an ONNX model; export or download it again.`,
    )
  const standard = model.opsetImport.find(({ domain }) => domain === '' || domain === 'ai.onnx')
  const opset = Number(standard?.version ?? 0n)
  if (opset < OPSETS.first || opset > OPSETS.last)
    throw new HeadscopeError(
      'unsupported',
      `${name} uses version ${opset} of the ONNX operators, but versions ${OPSETS.first} to ${OPSETS.last} are read; export it again with another opset.`,
    )
  const folder = dirname(real)
  return {
    path: real,
    folder,
    name,
    bytes,
    model,
    graph,
    opset,
    producer: `${model.producerName} ${model.producerVersion}`.trim(),
    external: checkExternal(graph, folder, name),
  }
}

/**
 * Bytes of the model with more outputs. Protocol buffers merge what is appended: the file's own bytes stay as they are,
 * and the new outputs, without types, take those that the runtime infers.
 */
export function withOutputs(file: OnnxFile, tensors: readonly string[]): Uint8Array {
  const known = new Set(file.graph.output.map((output) => output.name))
  const added = tensors.filter((tensor) => !known.has(tensor))
  if (added.length === 0) return file.bytes
  const more = create(ModelProtoSchema, {
    graph: create(GraphProtoSchema, {
      output: added.map((tensor) => create(ValueInfoProtoSchema, { name: tensor })),
    }),
  })
  const tail = toBinary(ModelProtoSchema, more)
  const joined = new Uint8Array(file.bytes.length + tail.length)
  joined.set(file.bytes)
  joined.set(tail, file.bytes.length)
  return joined
}

// --- Internal helpers ---

function parse(bytes: Uint8Array) {
  return fromBinary(ModelProtoSchema, bytes)
}

function readWhole(path: string, name: string): { real: string; bytes: Uint8Array } {
  try {
    const real = realpathSync(path)
    return { real, bytes: readFileSync(real) }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT')
      throw new HeadscopeError('not-found', `${name} does not exist; check the path.`, { cause: error })
    throw new HeadscopeError('bad-checkpoint', `${name} cannot be read (${sentence(error)}).`, {
      cause: error,
    })
  }
}

/** Weights outside: inside the folder, there, and as long as the file says; a mapped file that is short kills the process. */
function checkExternal(graph: GraphProto, folder: string, name: string): string[] {
  const needed = new Map<string, number>()
  for (const tensor of graph.initializer) {
    if (tensor.dataLocation !== TensorProto_DataLocation.EXTERNAL) continue
    const entry = (key: string) => tensor.externalData.find((pair) => pair.key === key)?.value
    const location = entry('location') ?? ''
    if (location === '' || isAbsolute(location) || normalize(location).startsWith('..'))
      throw new HeadscopeError(
        'bad-checkpoint',
        `${name} keeps weights in ${JSON.stringify(location)}, which is outside of its folder; put the file beside it and export it again.`,
      )
    const end = Number(entry('offset') ?? 0) + Number(entry('length') ?? 0)
    needed.set(location, Math.max(needed.get(location) ?? 0, end))
  }
  for (const [location, end] of needed) {
    const facts = statSync(join(folder, location), { throwIfNoEntry: false })
    if (!facts)
      throw new HeadscopeError(
        'bad-checkpoint',
        `${name} keeps weights in ${location}, which is not beside it; put both files into one folder.`,
      )
    if (facts.size < end)
      throw new HeadscopeError(
        'bad-checkpoint',
        `${location} has ${facts.size} bytes, but ${name} reads up to byte ${end}; download it again.`,
      )
  }
  return [...needed.keys()]
}
