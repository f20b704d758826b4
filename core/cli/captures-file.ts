/** Captures → one safetensors file. */
import { type TensorToWrite, writeSafetensors } from '../checkpoint/safetensors-write.ts'
import type { Tensor } from '../graph/tensor.ts'
import { rightPad } from '../run/prompts.ts'

/**
 * Writes float32 captures under their hook names, with `input_ids` and `attention_mask` [batch, pos] I64 beside them;
 * padding is 0. Throws `no-space` or `bad-request`.
 */
export function writeCaptures(
  file: string,
  prompts: readonly (readonly number[])[],
  captures: ReadonlyMap<string, Tensor>,
): void {
  const rows = rightPad(prompts)
  const shape = [rows.length, rows[0]!.length]
  const mask = prompts.flatMap((ids) => rows[0]!.map((_, pos) => (pos < ids.length ? 1n : 0n)))
  const tensors: TensorToWrite[] = [
    { name: 'input_ids', shape, data: BigInt64Array.from(rows.flat(), BigInt) },
    { name: 'attention_mask', shape, data: BigInt64Array.from(mask) },
    ...[...captures].map(([name, tensor]) => ({ name, shape: tensor.shape, data: tensor.data })),
  ]
  writeSafetensors(file, tensors)
}
