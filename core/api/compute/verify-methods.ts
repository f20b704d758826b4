/** What the compute worker does to check a checkpoint: the identities, and a file of reference values where one is named. */
import type * as headscope from '../../index.ts'
import type { VerifyReply, VerifyRequest } from '../contract-verify.ts'
import type { ModelCache } from './model-cache.ts'
import type { Call } from './rpc.ts'

/** Makes the table. */
export function createVerifyMethods({
  verify,
  models,
}: {
  verify: typeof headscope.verify
  models: ModelCache<headscope.Model>
}) {
  return {
    verify: ({ model, ...options }: VerifyRequest, _: Call): Promise<VerifyReply> =>
      models.use(model, (opened) => verify(opened, options)),
  }
}
