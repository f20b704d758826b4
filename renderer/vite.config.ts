/** Builds the renderer into renderer/dist: static files with relative addresses, for http:// and app:// alike. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// The folder of this file, without node:path: the renderer's types know no Node.
const here = decodeURIComponent(new URL('.', import.meta.url).pathname).replace(/^\/([A-Za-z]:)/, '$1')
const { process } = globalThis as unknown as { process: { env: Record<string, string | undefined> } }

export default defineConfig(({ command }) => {
  // A build that a test starts inherits NODE_ENV=test, and React would then be its development version: half as fast.
  if (command === 'build') process.env.NODE_ENV = 'production'
  return {
    root: here,
    base: './',
    plugins: [react()],
    build: { outDir: 'dist', emptyOutDir: true, target: 'es2023', chunkSizeWarningLimit: 1500 },
  }
})
