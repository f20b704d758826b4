interface ImportMeta {
  /** Vite's: the files that fit, as a record that is written at the build. */
  glob<T>(pattern: string, options: { eager: true; query: string; import: 'default' }): Record<string, T>
}
