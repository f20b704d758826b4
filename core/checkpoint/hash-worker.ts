/** Thread of content-hash.ts: gets the sorted tensors, answers with their hash or the sentence of an error. */
import { parentPort, workerData } from 'node:worker_threads'
import { HeadscopeError, sentence } from '../errors.ts'
import { hashTensors } from './content-hash.ts'

try {
  parentPort?.postMessage({ result: hashTensors(workerData) })
} catch (error) {
  const code = error instanceof HeadscopeError ? error.code : 'internal'
  parentPort?.postMessage({ code, message: sentence(error) })
}
