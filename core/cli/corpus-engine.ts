/** What `corpus` needs of the engine, in one module that is loaded when the command runs. */
export { windowsOf } from '../analysis/batches.ts'
export { headsOverCorpus } from '../analysis/corpus.ts'
export { tokensOf } from '../analysis/token-classes.ts'
export { corpusWindows, storeWindows } from '../api/compute/store-windows.ts'
export { asOneText } from '../run/one-text.ts'
