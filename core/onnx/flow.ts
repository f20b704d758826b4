/** Who makes and who reads each tensor of a graph, and what lies before and after a tensor. Plain look-ups, made once. */
import type { GraphProto, NodeProto } from 'onnx-buf'

export interface Flow {
  /** Nodes in the order of the file, which is an order of computation. */
  readonly nodes: readonly NodeProto[]
  maker(tensor: string): NodeProto | undefined
  readers(tensor: string): readonly NodeProto[]
  /** Whether a tensor changes with the tokens: not a weight, a constant, or a shape. */
  isData(tensor: string): boolean
  /** Every tensor that a tensor is computed from, itself included. */
  before(tensor: string): ReadonlySet<string>
  /** Every data tensor computed from some of these, themselves included; shapes of them are not. */
  after(...tensors: string[]): ReadonlySet<string>
}

/** Operations whose outputs are shapes or counts. */
const SHAPES = new Set(['Shape', 'Size', 'ConstantOfShape'])

/** Look-ups over a graph. */
export function flowOf(graph: GraphProto): Flow {
  const nodes = graph.node
  const makers = new Map<string, NodeProto>()
  const readers = new Map<string, NodeProto[]>()
  for (const node of nodes) {
    for (const output of node.output) if (output !== '') makers.set(output, node)
    for (const input of node.input) readers.set(input, [...(readers.get(input) ?? []), node])
  }
  const weights = new Set(graph.initializer.map((tensor) => tensor.name))
  const data = spread(
    nodes,
    graph.input.map((input) => input.name).filter((name) => !weights.has(name)),
  )
  return {
    nodes,
    maker: (tensor) => makers.get(tensor),
    readers: (tensor) => readers.get(tensor) ?? [],
    isData: (tensor) => data.has(tensor),
    before(tensor) {
      const seen = new Set([tensor])
      const open = [tensor]
      for (let next = open.pop(); next !== undefined; next = open.pop())
        for (const input of makers.get(next)?.input ?? [])
          if (input !== '' && !seen.has(input)) {
            seen.add(input)
            open.push(input)
          }
      return seen
    },
    after: (...tensors) => spread(nodes, tensors),
  }
}

/** The number of an attribute, or its list; undefined where it is absent. */
export function attributeOf(node: NodeProto, name: string): number | readonly number[] | undefined {
  const found = node.attribute.find((attribute) => attribute.name === name)
  if (!found) return undefined
  return found.ints.length > 0 ? found.ints.map(Number) : Number(found.i)
}

// --- Internal helpers ---

function spread(nodes: readonly NodeProto[], from: readonly string[]): Set<string> {
  const reached = new Set(from)
  for (const node of nodes) {
    if (SHAPES.has(node.opType)) continue
    if (node.input.some((input) => reached.has(input)))
      for (const output of node.output) if (output !== '') reached.add(output)
  }
  return reached
}
