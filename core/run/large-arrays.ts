/**
 * Memory of dropped arrays. Outputs of ONNX Runtime live outside the JavaScript heap, so the collector, which looks at
 * the heap, lets gigabytes of dead patterns pile up before it runs. A pass counts what it drops and collects itself.
 * Cost: about 5 ms per collection, one per 64 MB.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const LIMIT = 64 * 1024 * 1024
let collect: (() => void) | null = null

// Arrays outside the heap make the collector mark often. Marking beside the computation takes a core from ONNX Runtime,
// a tenth of a sweep on two cores; on the computing thread, between two blocks, it takes 8 ms.
setFlagsFromString('--no-concurrent-marking')

/** Counts bytes that go out of use; `dropped` says so, and collects once enough have. */
export function createDropCounter(): { dropped(bytes: number): void } {
  let total = 0
  return {
    dropped(bytes) {
      total += bytes
      if (total < LIMIT) return
      total = 0
      collect ??= collector()
      collect()
    },
  }
}

// --- Internal helpers ---

function collector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}
