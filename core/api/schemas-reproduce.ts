/** The body of /api/reproduce: any request that has a command or a script, checked as its own route checks it. */
import { z } from 'zod'
import {
  ablateBody,
  attributeBody,
  generateBody,
  model,
  patchBody,
  pathBody,
  prompt,
  runBody,
  scanBody,
} from './schemas.ts'
import { compareBody, relationBody, seriesBody, spansBody, summaryBody } from './schemas-heads.ts'
import {
  compoundBody,
  contextsBody,
  dlaBody,
  geometryBody,
  lensBody,
  pairsBody,
  weightsBody,
} from './schemas-inside.ts'

const index = z.int().min(0)
const of = <K extends string, S extends z.ZodType>(kind: K, request: S) =>
  z.strictObject({ kind: z.literal(kind), request })

export const reproduceBody = z.discriminatedUnion('kind', [
  of('run', runBody),
  of('scan', scanBody),
  of('ablate', ablateBody),
  of('patch', patchBody),
  of('path', pathBody),
  of('attribute', attributeBody),
  of('lens', lensBody),
  of('dla', dlaBody),
  of('weights', weightsBody),
  of('compare', compareBody),
  of('spans', spansBody),
  of('relation', relationBody),
  of('series', seriesBody),
  of('summary', summaryBody),
  of('generate', generateBody),
  of('pairs', pairsBody),
  of('geometry', geometryBody),
  of('contexts', contextsBody),
  of('compound', compoundBody),
  of('bench', z.strictObject({ model, prompt, layer: index, head: index, cross: z.boolean().optional() })),
])
