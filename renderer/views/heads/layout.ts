/** How large the tiles of a head grid are, and whether the pattern goes beside or below. Pure. */

const RANKED = 226 // width of the ranked list
const GAP = 16
/** Between two grids, and above them. */
export const BETWEEN = 20
const CAPTION = 20
/** A place of so few pixels has everything in one column; as the style sheet has it. */
export const NARROW = 680
const PADDING = 24 // of the body, both sides
/** What a pattern beside the grid should have; with less than the second its tools would lie over what is beside it. */
const [PATTERN, PATTERN_LEAST] = [330, 260]
/** Tiles shrink to the first before they take the room of the pattern, and never below the second. */
const [SMALL, SMALLEST] = [11, 7]

export interface GridLayout {
  readonly beside: boolean
  readonly pitch: number
  /** The width beyond which the grid scrolls, so that the pattern beside it keeps its place; null: it has none beside it. */
  readonly widest: number | null
}

interface Heads {
  readonly n_layers: number
  readonly n_heads: number
}

/**
 * Wide, flat models get the pattern below the grid; the others beside it. Tiles are 11 to 84 pixels, up to 132 in a very
 * large window, and down to 7 where many heads would leave the pattern no room. With `second` two grids stand beside each
 * other.
 */
export function gridLayout(
  spec: Heads,
  size: { width: number; height: number },
  rowLabel: number,
  columnLabel: number,
  second: Heads | null = null,
): GridLayout {
  const heads = spec.n_heads + (second?.n_heads ?? 0)
  const layers = Math.max(spec.n_layers, second?.n_layers ?? 0)
  const labels = second ? 2 * rowLabel + BETWEEN : rowLabel
  const above = second ? columnLabel + CAPTION : columnLabel
  const narrow = size.width < NARROW // the ranked list is then below
  const beside = heads < layers * 2 && !narrow
  const width = size.width - PADDING - (narrow ? 0 : RANKED + GAP * (beside ? 2 : 1))
  const room = beside
    ? { width: width * (second ? 0.56 : 0.46) - labels, height: size.height - above - 8 }
    : { width: width - labels - 8, height: size.height * (size.height < 560 ? 0.3 : 0.36) - above }
  const pitch = Math.floor(Math.min(room.width / heads, room.height / layers))
  const most = size.height > 1200 ? 132 : 84
  const beforePattern = Math.floor((width - PATTERN - labels) / heads)
  const least = beside && !second ? Math.max(SMALLEST, Math.min(SMALL, beforePattern)) : SMALL
  return {
    beside,
    pitch: Math.min(most, Math.max(least, pitch)),
    widest: beside ? Math.max(0, width - PATTERN_LEAST) : null,
  }
}
