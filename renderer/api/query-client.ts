/** The cache of what was read from the engine. */
import { QueryClient } from '@tanstack/react-query'
import { ApiFailure } from './client.ts'

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
