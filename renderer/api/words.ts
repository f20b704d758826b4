/** Questions about tokens and their residuals: the embedding, one token in several prompts, pieces of a compound. */
import type {
  CompoundReply,
  CompoundRequest,
  ContextsReply,
  ContextsRequest,
  NeighboursReply,
  NeighboursRequest,
} from '../../core/api/contract.ts'
import { post } from './client.ts'

export const wordsApi = {
  neighbours: (body: NeighboursRequest, signal?: AbortSignal) =>
    post<NeighboursReply>('/api/residual/neighbours', body, signal),
  contexts: (body: ContextsRequest, signal?: AbortSignal) =>
    post<ContextsReply>('/api/residual/contexts', body, signal),
  compound: (body: CompoundRequest, signal?: AbortSignal) =>
    post<CompoundReply>('/api/residual/compound', body, signal),
}
