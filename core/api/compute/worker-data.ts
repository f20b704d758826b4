/** What the server hands to its compute worker at the start. */
export interface WorkerData {
  readonly storePath: string
  readonly threads: number
  readonly device?: string
  readonly cacheDir?: string
}
