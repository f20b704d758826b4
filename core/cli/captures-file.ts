/** Captures → one safetensors file. */
import { type TensorToWrite, writeSafetensors } from '../checkpoint/safetensors-write.ts'
import type { Tensor } from '../graph/tensor.ts'
import { rightPad } from '../run/prompts.ts'

/**
 * Writes float32 captures under their hook names, with `input_ids` and `attention_mask` [batch, pos] I64 beside them;
 * padding is 0. Where a decoder reads an encoder, `input_ids` are the encoder's, and `decoder_input_ids` stand beside
 * them; token types are `token_type_ids`. Throws `no-space` or `bad-request`.
 */
export function writeCaptures(
  file: string,
  prompts: readonly (readonly number[])[],
  captures: ReadonlyMap<string, Tensor>,
  decoderIds?: readonly (readonly number[])[],
  tokenTypes?: readonly (readonly number[])[],
): void {
  const rows = rightPad(prompts)
  const shape = [rows.length, rows[0]!.length]
  const mask = prompts.flatMap((ids) => rows[0]!.map((_, pos) => (pos < ids.length ? 1n : 0n)))
  const tensors: TensorToWrite[] = [
    idTensor('input_ids', prompts),
    { name: 'attention_mask', shape, data: BigInt64Array.from(mask) },
    ...(decoderIds ? [idTensor('decoder_input_ids', decoderIds)] : []),
    ...(tokenTypes ? [idTensor('token_type_ids', tokenTypes)] : []),
    ...[...captures].map(([name, tensor]) => ({ name, shape: tensor.shape, data: tensor.data })),
  ]
  writeSafetensors(file, tensors)
}

// --- Internal helpers ---

/** Right-padded ids [batch, pos]. */
function idTensor(name: string, prompts: readonly (readonly number[])[]): TensorToWrite {
  const rows = rightPad(prompts)
  return { name, shape: [rows.length, rows[0]!.length], data: BigInt64Array.from(rows.flat(), BigInt) }
}
