/** Versions that a run's provenance names. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

export const versions = {
  headscope: versionIn(join(import.meta.dirname, '..', '..', 'package.json')),
  onnxruntime: versionIn(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')),
  node: process.versions.node,
} as const

function versionIn(file: string): string {
  return JSON.parse(readFileSync(file, 'utf8')).version
}
