/** The small pictures of the examples, light and dark: photographed from the app by test/gallery/examples.ts. */
import type { Theme } from '../../state/theme.ts'

const files = import.meta.glob<string>('./pictures/*.webp', { eager: true, query: '?url', import: 'default' })

/** Address of an example's picture; undefined before it was taken. */
export function pictureOf(name: string, theme: Theme): string | undefined {
  return files[`./pictures/${name}-${theme}.webp`]
}
