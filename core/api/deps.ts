/** What the handlers stand on: everything is passed in, so that tests can put something small in its place. */

import type { Catalogue } from './catalogue.ts'
import type { ComputeClient } from './compute/client.ts'
import type { ComputeMethods } from './compute/methods.ts'
import type { About } from './contract.ts'
import type { JobQueue } from './job-queue.ts'
import type { WorkspaceReads } from './workspace.ts'

export type Compute = ComputeClient<ComputeMethods>

export interface ApiDeps {
  /** Facts that do not change while the engine runs. */
  readonly about: Omit<About, 'start'>
  /** The text whose opening a fresh app shows twice, or null. */
  readonly startText: string | null
  readonly catalogue: Catalogue
  readonly workspace: WorkspaceReads
  readonly compute: Compute
  readonly jobs: JobQueue
  /** Folder of the built pages. */
  readonly rendererDir: string
  readonly token: string
}
