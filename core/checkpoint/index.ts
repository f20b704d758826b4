/** The public parts of the checkpoint folder. */

export { bindTensors } from './bind.ts'
export { cacheSize, clearCache, defaultCacheDir } from './cache.ts'
export { count, finiteNumber, flag, oneOf, parseConfig, positive, readConfig, whole } from './config.ts'
export { contentHash } from './content-hash.ts'
export { nonFiniteWarnings } from './non-finite.ts'
export { openCheckpoint, readEosIds } from './open.ts'
export { readHeader, type SafetensorsHeader } from './safetensors.ts'
export { type TensorToWrite, writeSafetensors } from './safetensors-write.ts'
export { isCheckpointFolder, listMembers, type SeriesMember } from './series.ts'
export { readSafetensorsFile, readTensor, type StoredTensor, type TensorValues } from './tensor-data.ts'
export { checkVocab, type OpenedTokenizer, openTokenizer } from './tokenizer.ts'
export type * from './types.ts'
export {
  checkWeightFiles,
  copySize,
  copyToWrite,
  type WeightFilesOptions,
  weightFiles,
} from './working-copy.ts'
