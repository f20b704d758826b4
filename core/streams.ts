/** Sweeps and series whose cells can be read as they come: `await` the result, or `for await` over its parts. */
import {
  type Series,
  type SeriesOptions,
  type SeriesStep,
  scanSeries as scanWhole,
} from './compare/series.ts'
import { ablate as ablateWhole } from './intervene/ablate.ts'
import { attribute as attributeWhole } from './intervene/attribute.ts'
import { patch as patchWhole } from './intervene/patch.ts'
import { pathPatch as pathPatchWhole } from './intervene/path.ts'
import { type Streamed, streamed } from './streamed.ts'

/** What a metric loses without each head, MLP, layer or position. Throws what a run throws, and `bad-edit`. */
export const ablate = streamed(ablateWhole)

/** Activations of one prompt put into another's run, place by place. Throws `bad-prompt` and `bad-edit`. */
export const patch = streamed(patchWhole)

/** Senders patched on the way to single receivers. Throws `bad-prompt` and `bad-edit`. */
export const pathPatch = streamed(pathPatchWhole)

/** Estimates of every patch by gradients: the exact cells come first, the other estimates at the end. */
export const attribute = streamed(attributeWhole)

/** Every score at every step of a series. Throws `not-found` for a folder that is no series. */
export function scanSeries(
  series: Parameters<typeof scanWhole>[0],
  options: SeriesOptions = {},
): Streamed<SeriesStep, Series> {
  return streamedSeries(series, options)
}

// --- Internal helpers ---

type Telling = SeriesOptions & { readonly onCells?: (steps: readonly SeriesStep[]) => void }

const streamedSeries = streamed(
  (series: Parameters<typeof scanWhole>[0], { onCells, ...options }: Telling): Promise<Series> =>
    scanWhole(series, {
      ...options,
      async onStep(step, model, scan) {
        await options.onStep?.(step, model, scan)
        onCells?.([step])
      },
    }),
)
