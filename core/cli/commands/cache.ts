/** `headscope cache ACTION`: working copies of F16, BF16 and GGUF weights, and hashes; all of it can be made again. */
import { command, UsageError } from '../command.ts'
import { bytes } from '../table.ts'

export const cache = command({
  name: 'cache',
  usage: 'size|clear|path [options]',
  summary: 'How much the float32 working copies of weights take; removes them',
  detail:
    'Weights that are not float32 are written once as float32 into the cache, and hashes of weights are kept there. Everything in it is made again when it is needed; clear it while no model is open.',
  examples: ['headscope cache size', 'headscope cache clear'],
  options: {},
  takes: [1, 1],
  abrupt: true,
  async run({ positionals, out }) {
    const action = positionals[0]!
    if (!['size', 'clear', 'path'].includes(action))
      throw new UsageError(`cache has no action ${JSON.stringify(action)}; use size, clear or path`)
    const { cacheSize, clearCache, defaultCacheDir } = await import('../../checkpoint/cache.ts')
    const path = defaultCacheDir()
    const before = cacheSize(path)
    if (action === 'clear') clearCache(path)
    if (out.json)
      out.document({
        path,
        bytes: action === 'clear' ? cacheSize(path) : before,
        ...(action === 'clear' ? { freed: before } : {}),
        warnings: [],
      })
    else if (action === 'clear') out.line(`${bytes(before)} removed from ${path}`)
    else out.line(action === 'size' ? `${bytes(before)} in ${path}` : path)
    return 0
  },
})
