/** GET /api/about: versions, the workspace file, and where a fresh app begins. */
import { Hono } from 'hono'
import type { About } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { repeatedOpening } from './start-prompt.ts'

export function aboutRoutes({ about, startText, catalogue }: ApiDeps) {
  return new Hono().get('/', async (c) => {
    const first = (await catalogue.models()).find((model) => model.origin === 'bundled')
    const prompt = startText === null ? null : repeatedOpening(startText)
    const start = first && prompt !== null ? { model: first.path, prompt } : null
    return c.json<About>({ ...about, start })
  })
}
