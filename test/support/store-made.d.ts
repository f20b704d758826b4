/** Made-up captures for tests and benchmarks of the store: no model runs. Seeded, so that two processes agree. */
import type { Tensor } from '../../core/graph/tensor.ts';
import type { Edit, Provenance } from '../../core/run/types.ts';
/** A small generator of numbers in [0, 1): mulberry32. */
export declare function seeded(seed: number): () => number;
/**
 * Causal rows that sum to 1 [batch, head, query, key], 0 beyond each item's length. `even` as untrained heads are;
 * `sharp` with one strong key or two per row, as trained heads are; `window` keeps the last `span` keys.
 */
export declare function madePattern(lengths: readonly number[], heads: number, seed: number, kind?: 'even' | 'sharp' | 'window' | 'both-ways', span?: number): Tensor;
/** Numbers in [-1, 1) [batch, pos, d_model], 0 beyond each item's length. */
export declare function madeResidual(lengths: readonly number[], width: number, seed: number): Tensor;
/** Token ids, small ones far more often than large ones, as in text. */
export declare function madeTokens(length: number, seed: number): number[];
export declare function madeProvenance(contentHash?: string | null, edits?: readonly Edit[]): Provenance;
