/** Rules of ONNX files: versions of the operators, where weights may lie, and that outputs are added without a change. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type ModelProto,
  ModelProtoSchema,
  StringStringEntryProtoSchema,
  TensorProto_DataLocation,
  TensorProtoSchema,
} from 'onnx-buf'
import { afterAll, expect, test } from 'vitest'
import { readOnnx, withOutputs } from './file.ts'

const FUSED = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'onnx', 'fused.onnx')
const folder = mkdtempSync(join(tmpdir(), 'headscope-onnx-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The fused fixture, changed. */
function changed(name: string, change: (model: ModelProto) => void): string {
  const model = fromBinary(ModelProtoSchema, readOnnx(FUSED).bytes)
  change(model)
  const path = join(folder, name)
  writeFileSync(path, toBinary(ModelProtoSchema, model))
  return path
}

test.each([13, 17, 25])('operators of version %i are read', (version) => {
  const path = changed(`v${version}.onnx`, (model) => {
    model.opsetImport[0]!.version = BigInt(version)
  })
  expect(readOnnx(path).opset).toBe(version)
})

test.each([12, 26])('operators of version %i are refused', (version) => {
  const path = changed(`v${version}.onnx`, (model) => {
    model.opsetImport[0]!.version = BigInt(version)
  })
  expect(() => readOnnx(path)).toThrow(
    `v${version}.onnx uses version ${version} of the ONNX operators, but versions 13 to 25 are read`,
  )
})

test.each(['/etc/passwd', '../weights.bin', ''])('weights in %j are refused', (location) => {
  const path = changed('outside.onnx', (model) => {
    model.graph!.initializer.push(
      create(TensorProtoSchema, {
        name: 'w',
        dims: [4n],
        dataType: 1,
        dataLocation: TensorProto_DataLocation.EXTERNAL,
        externalData: [create(StringStringEntryProtoSchema, { key: 'location', value: location })],
      }),
    )
  })
  expect(() => readOnnx(path)).toThrow('which is outside of its folder')
})

test('more outputs are appended: what was there stays byte for byte', () => {
  const file = readOnnx(FUSED)
  const bytes = withOutputs(file, ['x1', 'logits', 'mixed0'])
  expect(bytes.subarray(0, file.bytes.length)).toEqual(Uint8Array.from(file.bytes))
  const outputs = fromBinary(ModelProtoSchema, bytes).graph!.output.map(({ name }) => name)
  expect(outputs).toEqual(['logits', 'x1', 'mixed0'])
  expect(withOutputs(file, ['logits'])).toBe(file.bytes)
})
