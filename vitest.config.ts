import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Threads and processes that tests start need not compile the same files again. */
const COMPILED = join(tmpdir(), 'headscope-compiled')

/**
 * Projects: core and shell in node, renderer in jsdom, and what spans folders under test/. Files share a worker's modules,
 * since reading them anew for each file took a fifth of the time; but not the shell's, which is one window a process.
 */
export default defineConfig({
  test: {
    // By default one core is left idle; most of the time here is spent waiting for child processes.
    maxWorkers: 2,
    projects: [
      node('core', ['core/**/*.test.ts', 'electron/**/*.test.ts']),
      {
        test: {
          name: 'renderer',
          isolate: false,
          environment: 'jsdom',
          include: ['renderer/**/*.test.{ts,tsx}'],
        },
      },
      node('contract', ['test/contract/**/*.test.ts']),
      node('golden', ['test/golden/**/*.test.ts']),
      node('e2e', ['test/e2e/**/*.test.ts', 'test/gallery/**/*.test.ts'], { isolate: true }),
    ],
  },
})

function node(name: string, include: string[], { isolate = false } = {}) {
  return {
    test: {
      name,
      include,
      isolate,
      environment: 'node',
      env: { NODE_COMPILE_CACHE: COMPILED },
      testTimeout: 60_000,
      hookTimeout: 120_000,
    },
  }
}
