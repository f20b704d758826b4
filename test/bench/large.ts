/**
 * Large things: opening a 1 GB float16 checkpoint the second time, and the peak memory of capturing 2,048 tokens.
 * Each measurement runs in a process of its own. Run: `node test/bench/large.ts`.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openModel } from '../../core/index.ts'
import { openStore } from '../../core/store/capture-store.ts'
import { CLASS_100M, writeRandomLlama } from './random-llama.ts'

const [task, path, storeFile] = process.argv.slice(2)
if (task === 'open') console.log(JSON.stringify(await open(path!)))
else if (task === 'capture') console.log(JSON.stringify(await capture(path!, storeFile!)))
else console.log(JSON.stringify(all(), null, 2))

function all() {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-bench-'))
  try {
    const half = join(folder, 'half')
    const bytes = writeRandomLlama(
      half,
      { ...CLASS_100M, width: 1536, heads: 24, kvHeads: 24, mlp: 4096, layers: 14 },
      1,
      'F16',
    )
    const full = join(folder, 'full')
    writeRandomLlama(full, CLASS_100M)
    const env = { ...process.env, HEADSCOPE_CACHE: join(folder, 'cache') }
    const child = (...args: string[]) =>
      JSON.parse(
        execFileSync(process.execPath, ['--expose-gc', import.meta.filename, ...args], {
          encoding: 'utf8',
          env,
        }),
      )
    return {
      float16_bytes: bytes,
      first_open: child('open', half),
      second_open: child('open', half),
      capture_2048: child('capture', full, join(folder, 'work.db')),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function open(folder: string) {
  const heap = process.memoryUsage()
  const started = performance.now()
  const model = await openModel(folder)
  await model.run([1, 2, 3, 4, 5, 6, 7, 8])
  const seconds = (performance.now() - started) / 1000
  globalThis.gc?.()
  const now = process.memoryUsage()
  return {
    seconds,
    heap_growth_mb: (now.heapUsed + now.arrayBuffers - heap.heapUsed - heap.arrayBuffers) / 1e6,
  }
}

async function capture(folder: string, file: string) {
  const model = await openModel(folder)
  const store = openStore(file)
  const ids = Array.from({ length: 2048 }, (_, i) => (i * 31) % model.spec.dVocab)
  const provenance = {
    modelPath: folder,
    modelName: model.name,
    family: 'llama',
    contentHash: null,
    capture: [],
    edits: [],
    versions: { headscope: '', onnxruntime: '', node: '' },
    device: 'cpu',
    dtype: 'f32' as const,
  }
  const writer = store.beginRun({ provenance, items: [{ ids }] })
  const started = performance.now()
  const { items } = await model.run(ids, {
    capture: ['blocks.*.attn.hook_pattern', 'blocks.*.hook_resid_pre'],
    onCapture: (hook, tensor) => writer.write(hook, tensor),
  })
  writer.complete({ items })
  const seconds = (performance.now() - started) / 1000
  store.close()
  const layer = 4 * model.spec.stacks[0]!.layers[0]!.nHeads * 2048 * 2048
  return {
    seconds,
    peak_mb: (process.resourceUsage().maxRSS * 1024) / 1e6,
    allowed_mb: (4 * model.parameters.total + 2 * layer) / 1e6 + 200,
  }
}
