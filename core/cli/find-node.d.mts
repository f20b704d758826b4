/** Types of find-node.mjs. */

export interface NodeHost {
  readonly platform: string
  readonly arch: string
  /** The program that runs now, its Node version, and whether it is Electron. */
  readonly execPath: string
  readonly version: string
  readonly electron: boolean
}

/** Path of the engine's Node, or null when there is none. */
export function findNode(root: string, host?: NodeHost): string | null
/** One sentence for a machine on which `findNode` found none. */
export function noNode(host?: NodeHost): string
/** Whether a Node of this version runs TypeScript files as they are, without a word on stderr: 24.3 or newer. */
export function runsTypeScript(version: string): boolean
