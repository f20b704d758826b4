/** What a score on repeated random tokens is: which query rows it averages, and which key it reads in each. */
import type { RepeatLayout } from '../sequences.ts'

export interface RepeatScore {
  readonly name: string
  /** What a person calls it. */
  readonly title: string
  /** The formula in words, shown wherever the number is. */
  readonly definition: string
  /** First query row; the rows go on to the end. */
  firstRow(layout: RepeatLayout): number
  /** Key that row `query` reads. */
  key(query: number, layout: RepeatLayout): number
}
