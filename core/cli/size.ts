/** Bytes as a person reads them: 1.2 GB. Powers of ten, as disks are sold and file managers count. */
export function sizeOf(bytes: number): string {
  for (const [unit, size] of UNITS) if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`
  return `${bytes} bytes`
}

const UNITS = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
] as const
