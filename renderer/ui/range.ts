/** 0 … count - 1. */
export function range(count: number): number[] {
  return [...Array(count).keys()]
}
