import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openCheckpoint } from './open.ts'
import { readHeader } from './safetensors.ts'
import { writeSafetensors } from './safetensors-write.ts'
import { isCheckpointFolder, listMembers } from './series.ts'
import { readTensor } from './tensor-data.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-open-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function checkpoint(path: string, weights = 'model.safetensors', value = 1): string {
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'config.json'), '{"model_type": "gpt2", "eos_token_id": 3}')
  writeSafetensors(join(path, weights), [{ name: 'w', shape: [1], data: Float32Array.of(value) }])
  return path
}

test('a folder, its files, and a link to it are the same checkpoint', () => {
  const path = checkpoint(join(folder, 'tiny'))
  symlinkSync(path, join(folder, 'link'))
  const opened = openCheckpoint(path)
  expect(opened).toMatchObject({ path, name: 'tiny', tokenizer: null, eosIds: [3] })
  expect(opened.tokenizerProblem).toContain('tokenizer.json is missing')
  expect(opened.warnings).toEqual([opened.tokenizerProblem])
  for (const other of ['tiny/model.safetensors', 'tiny/config.json', 'tiny/', 'link']) {
    expect([...openCheckpoint(join(folder, other)).tensors]).toEqual([...opened.tensors])
  }
  expect(openCheckpoint(join(folder, 'link')).name).toBe('link')
})

test('a Hugging Face snapshot of links names the real files', () => {
  const blobs = checkpoint(join(folder, 'blobs'), 'b1.safetensors')
  const snapshot = join(folder, 'snapshots', 'a1')
  mkdirSync(snapshot, { recursive: true })
  symlinkSync('../../blobs/b1.safetensors', join(snapshot, 'model.safetensors'))
  symlinkSync('../../blobs/config.json', join(snapshot, 'config.json'))
  const { tensors } = openCheckpoint(snapshot)
  expect(tensors.get('w')!.file).toBe(readHeader(join(blobs, 'b1.safetensors')).file)
})

test('another file name is taken when it is the only one or when it is named', () => {
  const path = checkpoint(join(folder, 'tiny'), 'ema.safetensors', 5)
  expect([...readTensor(openCheckpoint(path).tensors.get('w')!)]).toEqual([5])
  checkpoint(path, 'model.safetensors', 7)
  expect([...readTensor(openCheckpoint(path).tensors.get('w')!)]).toEqual([7])
  expect([...readTensor(openCheckpoint(join(path, 'ema.safetensors')).tensors.get('w')!)]).toEqual([5])
})

test('an index may not lead out of its folder', () => {
  const path = checkpoint(join(folder, 'tiny'), 'x.safetensors')
  const index = (map: unknown) =>
    writeFileSync(join(path, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))
  index({ w: 'x.safetensors' })
  expect(openCheckpoint(path).tensors.has('w')).toBe(true)
  index({ w: '../tiny/x.safetensors' })
  expect(() => openCheckpoint(path)).toThrow('places w in "../tiny/x.safetensors"')
  index({ w: 'y.safetensors' })
  expect(() => openCheckpoint(path)).toThrow('y.safetensors does not exist')
})

test('a series lists its members in natural order', () => {
  for (const step of ['step1024', 'step512', 'step0']) checkpoint(join(folder, 'run', step))
  mkdirSync(join(folder, 'run', 'logs'))
  symlinkSync('nowhere', join(folder, 'run', 'dangling'))
  const members = listMembers(join(folder, 'run'))
  expect(members.map(({ at }) => at)).toEqual(['step0', 'step512', 'step1024'])
  expect(members[0]!.path).toBe(join(folder, 'run', 'step0'))
  expect(() => openCheckpoint(join(folder, 'run'))).toThrow(
    'series of 3 checkpoints (step0, step512, step1024)',
  )
})

test('a checkpoint that holds steps is a checkpoint and has members', () => {
  const path = checkpoint(join(folder, 'final'))
  expect(listMembers(path)).toEqual([])
  checkpoint(join(path, 'other'))
  checkpoint(join(path, 'checkpoint-500'))
  expect(listMembers(path).map(({ at }) => at)).toEqual(['checkpoint-500'])
  cpSync(join(path, 'other'), join(path, 'checkpoints', 'step10'), { recursive: true })
  expect(listMembers(path).map(({ at }) => at)).toEqual(['step10'])
  expect(openCheckpoint(path).tensors.size).toBe(1)
})

test('end-of-text ids come from generation_config.json first', () => {
  const path = checkpoint(join(folder, 'tiny'))
  writeFileSync(join(path, 'generation_config.json'), '{"eos_token_id": [5, 6]}')
  expect(openCheckpoint(path).eosIds).toEqual([5, 6])
  writeFileSync(join(path, 'generation_config.json'), '{')
  const broken = openCheckpoint(path)
  expect(broken.eosIds).toEqual([3])
  expect(broken.warnings.join(' ')).toContain('generation_config.json is not valid JSON')
})

test('other formats are named by their path', () => {
  for (const name of ['model.gguf', 'pytorch_model.bin', 'model.onnx', 'notes.txt']) {
    writeFileSync(join(folder, name), 'x')
    expect(() => openCheckpoint(join(folder, name))).toThrow(name)
  }
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('x')
  expect(() => openCheckpoint(join(folder, 'absent'))).toThrow(/absent does not exist/)
})

test('a GGUF file counts as a checkpoint, a folder of that name only with weights', () => {
  writeFileSync(join(folder, 'm.gguf'), 'GGUF')
  mkdirSync(join(folder, 'folder.gguf'))
  expect(
    ['m.gguf', 'folder.gguf', 'none.gguf'].map((name) => isCheckpointFolder(join(folder, name))),
  ).toEqual([true, false, false])
  expect(() => openCheckpoint(join(folder, 'none.gguf'))).toThrow('none.gguf does not exist')
  expect(isCheckpointFolder(checkpoint(join(folder, 'folder.gguf')))).toBe(true)
  expect(openCheckpoint(join(folder, 'folder.gguf')).config.model_type).toBe('gpt2')
})
