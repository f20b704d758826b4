/** How the lanes are shown: what colours a cell, and whether the edits act. Kept in the address. */
import { useTool } from '../../state/store.ts'
import type { LensColour } from './lens-table.tsx'

export function useLensChoices() {
  const [colour, setColour] = useTool<LensColour>('lens', 'probability')
  const [which, setWhich] = useTool<'edited' | 'plain'>('lensrun', 'edited')
  return { colour, setColour, which, setWhich }
}
