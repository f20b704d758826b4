/** `inspect` of an ONNX file made by others: what its graph shows without running it. Costs reading the file. */
import { sizeOf } from '../graph/tensor.ts'
import { readOnnx } from '../onnx/file.ts'
import { flowOf } from '../onnx/flow.ts'
import { notObservable } from '../onnx/observable.ts'
import { recognise } from '../onnx/recognise.ts'
import type { Output } from './output.ts'
import { grouped, table } from './table.ts'

/** Prints what is there. Throws what reading the file throws. */
export function inspectOnnx(path: string, title: string, listHooks: boolean, out: Output): void {
  const file = readOnnx(path)
  const { layers, taps, fused, observable } = recognise(flowOf(file.graph))
  const weights = new Set(file.graph.initializer.map((tensor) => tensor.name))
  const inputs = file.graph.input.map((input) => input.name).filter((name) => !weights.has(name))
  const outputs = file.graph.output.map((output) => output.name)
  const total = file.graph.initializer.reduce((sum, { dims }) => sum + sizeOf(dims.map(Number)), 0)
  const hooks = taps.map(({ hook, axes, tensor }) => ({ name: hook, shape: axes, tensor }))
  const warnings = fused.length > 0 ? [notObservable(file.name, { fused, layers })] : []
  if (out.json) {
    out.document({
      model: { path: file.path, hash: null, why: 'an ONNX file is hashed when it runs', family: 'onnx' },
      family: 'onnx',
      spec: { n_layers: layers, opset: file.opset, producer: file.producer, inputs, outputs, fused },
      parameters: { total },
      hooks,
      observable,
      warnings,
    })
    return
  }
  out.line(`${out.style.bold(title)}  ${out.style.dim(file.path)}`)
  out.line()
  const facts = [
    ['format', `ONNX, operators of version ${file.opset}, by ${file.producer || 'an unnamed exporter'}`],
    ['attention', `${layers} layers recognised${fused.length > 0 ? `, ${fused.length} of them fused` : ''}`],
    ['weights', `${grouped(total)}${file.external.length > 0 ? ` in ${file.external.join(', ')}` : ''}`],
    ['inputs', inputs.join(', ')],
    ['outputs', outputs.join(', ')],
    ['hooks', `${hooks.length}${listHooks ? '' : ' (--hooks lists them)'}`],
    ['tensors', `${observable.length} more can be captured by their own names`],
  ]
  for (const [name, value] of facts) out.line(`${out.style.dim(name!.padEnd(15))}  ${value}`)
  if (listHooks) {
    out.line()
    const rows = hooks.map(({ name, shape, tensor }) => [name, `[${shape.join(', ')}]`, tensor])
    const columns = [{ title: 'hook' }, { title: 'axes' }, { title: 'tensor' }]
    for (const line of table(columns, rows, out.style.bold)) out.line(line)
  }
  out.warn(warnings)
}
