/**
 * Our side of a comparison with other libraries: requests as JSON lines on stdin, one answer each on stdout. The model
 * is opened and warmed at `init`, as the others load theirs; times are taken inside. Values come in the same meaning
 * and order as the others give them, so that a fast but wrong answer shows.
 *
 * Requests: init {model, threads, prompts}, forward {T}, capture {T, what}, ablate {layers}, patch {what, layers},
 * attribution {prompt}. An answer: {ok, s, cpu, peak_mb, base_mb, value}.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { ablate, attribute, type Model, openModel, patch } from '../../core/index.ts'

interface Pair {
  readonly clean: readonly number[]
  readonly corrupt: readonly number[]
  readonly right: number
  readonly wrong: number
}
interface Prompts {
  readonly text: readonly number[]
  readonly p16: Pair
  readonly p64: Pair
}
interface Opened {
  readonly model: Model
  readonly prompts: Prompts
}
type Answer = { readonly value: readonly number[] } & Readonly<Record<string, unknown>>
/** First and end. */
type Layers = readonly [number, number]

let opened: Opened | null = null

const listed = ([first, end]: Layers) => Array.from({ length: end - first }, (_, i) => first + i)

const metricOf = ({ right, wrong }: Pair) => ({ kind: 'logit_diff', answer: right, wrong }) as const

async function forward({ model, prompts }: Opened, { T }: { T: number }): Promise<() => Answer> {
  const run = await model.run(prompts.text.slice(0, T), { capture: ['logits'], top: 0 })
  return () => {
    const row = lastRow(run.get('logits').data, T)
    return { value: [meanAbs(row), row.reduce((a, b) => Math.max(a, b))] }
  }
}

async function capture({ model, prompts }: Opened, { T, what }: { T: number; what: string }) {
  const names = what === 'all' ? ['*'] : ['*.hook_pattern', '*.hook_resid_pre', '*.hook_resid_post']
  const run = await model.run(prompts.text.slice(0, T), { capture: [...names, 'logits'], top: 0 })
  return (): Answer => {
    const sizes = run.captured.map((name) => run.get(name).data.byteLength)
    return {
      value: [meanAbs(lastRow(run.get('logits').data, T))],
      entries: sizes.length,
      bytes: sizes.reduce((a, b) => a + b, 0),
    }
  }
}

async function zeroAblation({ model, prompts }: Opened, { layers }: { layers: Layers }) {
  const { base, cells } = await ablate(model, prompts.p64.clean, {
    over: 'heads',
    kind: 'zero',
    metric: metricOf(prompts.p64),
    layers: listed(layers),
  })
  return (): Answer => ({ value: cells.map((cell) => base - cell.value!) })
}

async function patching(
  { model, prompts }: Opened,
  { what, layers }: { what: 'resid_pre' | 'attn_head_out_all_pos'; layers: Layers },
) {
  const { clean, corrupt } = prompts.p16
  const site = what === 'resid_pre' ? 'resid_pre' : 'z'
  const { cells } = await patch(model, clean, corrupt, {
    site,
    metric: metricOf(prompts.p16),
    layers: listed(layers),
  })
  return (): Answer => ({ value: cells.map((cell) => cell.normalized!) })
}

async function attribution({ model, prompts }: Opened, { prompt }: { prompt: 'p16' | 'p64' }) {
  const { clean, corrupt } = prompts[prompt]
  const { cells } = await attribute(model, clean, corrupt, {
    metric: metricOf(prompts[prompt]),
    sites: ['z'],
  })
  return (): Answer => {
    const heads = new Map<string, number>()
    for (const { layer, head, estimate } of cells)
      heads.set(`${layer} ${head}`, (heads.get(`${layer} ${head}`) ?? 0) + estimate)
    return { value: [...heads.values()] }
  }
}

const OPS = { forward, capture, ablate: zeroAblation, patch: patching, attribution } as const

async function init(request: { model: string; threads: number; prompts: string }) {
  const model = await openModel(request.model, { threads: request.threads })
  const prompts = JSON.parse(readFileSync(request.prompts, 'utf8')) as Prompts
  opened = { model, prompts }
  // Weights are mapped on first use; the others have read theirs by now.
  await model.run(prompts.text.slice(0, 16), { capture: ['logits'], top: 0 })
  return { ok: true, name: 'headscope' }
}

async function timed(work: () => Promise<() => Answer>) {
  globalThis.gc?.()
  resetPeak()
  const base = status('VmRSS')
  const cpu = process.cpuUsage()
  const started = performance.now()
  const finish = await work()
  const s = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const peak = status('VmHWM')
  return { ok: true, s, cpu: (user + system) / 1e6, peak_mb: peak, base_mb: base, ...finish() }
}

async function answer(line: string): Promise<unknown> {
  const { op, ...request } = JSON.parse(line)
  if (op === 'init') return init(request)
  const run = Object.hasOwn(OPS, op) ? OPS[op as keyof typeof OPS] : undefined
  if (!run || !opened) return { ok: false, error: `no operation ${op}` }
  const current = opened
  return timed(() => run(current, request as never))
}

function lastRow(logits: Float32Array, rows: number): Float32Array {
  const vocab = logits.length / rows
  return logits.subarray((rows - 1) * vocab)
}

function meanAbs(row: Float32Array): number {
  return row.reduce((sum, value) => sum + Math.abs(value), 0) / row.length
}

/** Linux: the highest resident size begins anew. */
function resetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // elsewhere the peak is that of the whole process
  }
}

function status(key: string): number {
  const text = readFileSync('/proc/self/status', 'utf8')
  return Math.round(Number(new RegExp(`${key}:\\s+(\\d+)`).exec(text)![1]) / 102.4) / 10
}

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await answer(line).catch((error: Error) => ({ ok: false, error: error.message }))
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}
await (opened as Opened | null)?.model.close()
