/** The cache of what was read from the engine. */
import { notifyManager, QueryClient } from '@tanstack/react-query'
import { ApiFailure } from './client.ts'

// A timer between an answer and its picture is up to a frame lost.
notifyManager.setScheduler(queueMicrotask)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 4 && error instanceof ApiFailure && error.code === 'offline',
      networkMode: 'always', // the engine is on this machine
    },
    mutations: { networkMode: 'always' },
  },
})
