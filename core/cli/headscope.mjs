#!/usr/bin/env node
/**
 * `headscope`: starts the command line under a Node that can run it. In: any Node from 20 on. Out: the exit code of
 * the command. This file is plain JavaScript because the Node that starts it may be too old for the rest.
 */
import { spawn } from 'node:child_process'
import module from 'node:module'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode, noNode, runsTypeScript } from './find-node.mjs'

const root = dirname(dirname(import.meta.dirname ?? dirname(fileURLToPath(import.meta.url))))

if (runsTypeScript(process.versions.node) || process.env.HEADSCOPE_STARTED === '1') {
  delete process.env.HEADSCOPE_STARTED // what we start ourselves decides anew
  module.enableCompileCache() // keeps what was made of the TypeScript: help in 0.1 s instead of 0.2
  const { main } = await import('./main.ts')
  const code = await main(process.argv.slice(2), { root })
  if (code > 128) process.exit(code) // cancelled: nothing that still reads may hold the process
  process.exitCode = code
} else {
  start()
}

/** Runs this file once more under the engine's Node: same folder, same input and output, signals passed on. */
function start() {
  const node = findNode(root)
  if (node === null) {
    process.stderr.write(`${noNode()}\n`)
    process.exitCode = 1
    return
  }
  const args = [
    '--disable-warning=ExperimentalWarning',
    fileURLToPath(import.meta.url),
    ...process.argv.slice(2),
  ]
  const child = spawn(node, args, { stdio: 'inherit', env: { ...process.env, HEADSCOPE_STARTED: '1' } })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => {
    process.stderr.write(`${node} did not start: ${error.message}.\n`)
    process.exitCode = 1
  })
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0)
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name)
  })
}
