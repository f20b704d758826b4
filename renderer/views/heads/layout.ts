/** How large the tiles of a head grid are, and whether the pattern goes beside or below. Pure. */

const RANKED = 226 // width of the ranked list
const GAP = 16
const PADDING = 24 // of the body, both sides

export interface GridLayout {
  readonly beside: boolean
  readonly pitch: number
}

/** Wide, flat models get the pattern below the grid; the others beside it. Tiles are 11 to 84 pixels. */
export function gridLayout(
  spec: { n_layers: number; n_heads: number },
  size: { width: number; height: number },
  rowLabel: number,
  columnLabel: number,
): GridLayout {
  const beside = spec.n_heads < spec.n_layers * 2
  const width = size.width - PADDING - RANKED - GAP * (beside ? 2 : 1)
  const room = beside
    ? { width: width * 0.46 - rowLabel, height: size.height - columnLabel - 8 }
    : { width: width - rowLabel - 8, height: size.height * (size.height < 560 ? 0.3 : 0.36) - columnLabel }
  const pitch = Math.floor(Math.min(room.width / spec.n_heads, room.height / spec.n_layers))
  return { beside, pitch: Math.min(84, Math.max(11, pitch)) }
}
