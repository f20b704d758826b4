/** The head under the pointer, shared by grids that stand beside each other. */
import type { HeadId } from '../../state/head-name.ts'
import { createStore } from '../../state/store.ts'

export const hoveredHead = createStore<HeadId | null>(null)
