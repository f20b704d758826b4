/** Which paths mean an ONNX file. Only names of files are looked at. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The file of a path that is one, or of a folder that holds one and no safetensors: model.onnx (as Optimum and
 * onnxruntime-genai write it), here or in onnx/, else the only .onnx file. Null for everything else.
 */
export function onnxFileOf(path: string): string | null {
  if (/\.onnx$/i.test(path)) return path
  const names = list(path)
  if (names.some((name) => /\.(safetensors|gguf)$|\.safetensors\.index\.json$/i.test(name))) return null
  const inner = names.includes('onnx') ? list(join(path, 'onnx')).map((name) => join('onnx', name)) : []
  const files = [...names, ...inner].filter((name) => /\.onnx$/i.test(name))
  const main = ['model.onnx', join('onnx', 'model.onnx')].find((name) => files.includes(name))
  const chosen = main ?? (files.length === 1 ? files[0] : undefined)
  return chosen === undefined || !existsSync(join(path, chosen)) ? null : join(path, chosen)
}

// --- Internal helpers ---

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
