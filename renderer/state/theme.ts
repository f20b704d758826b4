/** Light or dark: the address first, then what was chosen before, then the system. */
import { useSyncExternalStore } from 'react'
import { getSelection, select, useSelection } from './store.ts'

export type Theme = 'light' | 'dark'

const KEY = 'headscope.theme'
const system = globalThis.matchMedia?.('(prefers-color-scheme: dark)')

function remembered(): Theme | null {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : null
  } catch {
    return null // storage is switched off
  }
}

function systemTheme(): Theme {
  return system?.matches ? 'dark' : 'light'
}

export function useTheme(): Theme {
  const chosen = useSelection((s) => s.theme)
  const fallback = useSyncExternalStore(
    (listener) => {
      system?.addEventListener('change', listener)
      return () => system?.removeEventListener('change', listener)
    },
    () => remembered() ?? systemTheme(),
  )
  return chosen ?? fallback
}

/** Outside React. */
export function currentTheme(): Theme {
  return getSelection().theme ?? remembered() ?? systemTheme()
}

/** Switches and remembers. */
export function toggleTheme(now: Theme): void {
  const next: Theme = now === 'dark' ? 'light' : 'dark'
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // storage is switched off: the address still carries it
  }
  if (getSelection().theme !== next) select({ theme: next }, { replace: true })
}
