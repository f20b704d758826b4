/**
 * A process that writes runs until it is ended: `node store-writer.ts PATH COUNT SEED`. Prints `ready`, then the id
 * of each complete run. COUNT 0 means without end.
 */
import { openStore } from '../../core/store/capture-store.ts'
import { madePattern, madeProvenance, madeResidual, madeTokens } from './store-made.ts'

const [path, count, seed] = process.argv.slice(2) as [string, string, string]
const store = openStore(path)
process.stdout.write('ready\n')
for (let i = 0; Number(count) === 0 || i < Number(count); i++) {
  const lengths = [24, 17]
  const items = lengths.map((length, item) => ({
    ids: madeTokens(length, 1000 * Number(seed) + 2 * i + item),
  }))
  const writer = store.beginRun({ provenance: madeProvenance(`hash of ${seed}`), items })
  for (let layer = 0; layer < 3; layer++) {
    writer.write(`blocks.${layer}.hook_resid_pre`, madeResidual(lengths, 16, layer))
    writer.write(`blocks.${layer}.attn.hook_pattern`, madePattern(lengths, 4, layer, 'sharp'))
  }
  process.stdout.write(`${writer.complete()}\n`)
}
store.close()
