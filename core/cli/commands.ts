/** Every command, in the order of help. A new one is a file in commands/ and a line here. */
import type { Command } from './command.ts'
import { ablate } from './commands/ablate.ts'
import { attribute } from './commands/attribute.ts'
import { bench } from './commands/bench.ts'
import { cache } from './commands/cache.ts'
import { compare } from './commands/compare.ts'
import { corpus } from './commands/corpus.ts'
import { dla } from './commands/dla.ts'
import { embed } from './commands/embed.ts'
import { exportStored } from './commands/export.ts'
import { flow } from './commands/flow.ts'
import { generate } from './commands/generate.ts'
import { importCapture } from './commands/import.ts'
import { inspect } from './commands/inspect.ts'
import { lens } from './commands/lens.ts'
import { merge } from './commands/merge.ts'
import { notebook } from './commands/notebook.ts'
import { patch } from './commands/patch.ts'
import { path } from './commands/path.ts'
import { relation } from './commands/relation.ts'
import { rollout } from './commands/rollout.ts'
import { run } from './commands/run.ts'
import { scan } from './commands/scan.ts'
import { serve } from './commands/serve.ts'
import { spans } from './commands/spans.ts'
import { sql } from './commands/sql.ts'
import { store } from './commands/store.ts'
import { sweep } from './commands/sweep.ts'
import { verify } from './commands/verify.ts'
import { weights } from './commands/weights.ts'

export const COMMANDS: readonly Command[] = [
  inspect,
  run,
  generate,
  scan,
  spans,
  corpus,
  relation,
  lens,
  dla,
  weights,
  embed,
  rollout,
  flow,
  compare,
  ablate,
  patch,
  path,
  attribute,
  verify,
  sweep,
  merge,
  store,
  cache,
  notebook,
  sql,
  exportStored,
  importCapture,
  serve,
  bench,
]
