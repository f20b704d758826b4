/** Which paths mean an ONNX file. Only names of files are looked at. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The file of a path that is one, or of a folder that holds one (as Optimum writes it) and no safetensors; else null. */
export function onnxFileOf(path: string): string | null {
  if (/\.onnx$/i.test(path)) return path
  if (['model.safetensors', 'model.safetensors.index.json'].some((name) => existsSync(join(path, name))))
    return null
  const found = ['model.onnx', join('onnx', 'model.onnx')].find((name) => existsSync(join(path, name)))
  return found === undefined ? null : join(path, found)
}
