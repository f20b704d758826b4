/** The check of the checkpoint in view: once per checkpoint, again when a reference file is named. */
import { useQuery } from '@tanstack/react-query'
import type { VerifyReply } from '../../core/api/contract-verify.ts'
import { useSelection } from '../state/store.ts'
import { post } from './client.ts'
import { useModel } from './queries.ts'

/** `golden`: path of a file of reference values; empty for the identities alone. */
export function useVerify(golden: string) {
  const path = useSelection((s) => s.model)
  const model = useModel()
  return useQuery({
    queryKey: ['verify', path, golden],
    queryFn: ({ signal }) =>
      post<VerifyReply>('/api/verify', { model: path!, ...(golden === '' ? {} : { golden }) }, signal),
    // Once the weights are hashed: what the person asked for first comes first.
    enabled: path !== null && model.data?.contentHash != null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
}
