/**
 * A checkpoint dropped on the window is opened. In: drops that no view has taken. Out: an opened checkpoint, or the reason
 * in the banner. A browser does not tell where a dropped folder is, and says so.
 */
import { desktop, openProblem } from './desktop.ts'
import { openCheckpoint } from './open.ts'

/** Begins to listen. Called once, when the app starts. */
export function connectDrop(): void {
  const root = document.documentElement
  addEventListener('dragover', (event) => {
    if (event.defaultPrevented || !holdsFiles(event)) return
    event.preventDefault() // without it the browser would leave the app for the file
    if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy'
    root.dataset.dropping = ''
  })
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) delete root.dataset.dropping
  })
  addEventListener('drop', (event) => {
    delete root.dataset.dropping
    if (event.defaultPrevented || !holdsFiles(event)) return
    event.preventDefault()
    const file = event.dataTransfer?.files[0]
    if (!file) return
    const path = desktop?.pathOf(file) ?? ''
    openProblem.set(null)
    if (path === '')
      openProblem.set(
        desktop
          ? `“${file.name}” is in no folder of this machine: save it first, then open it.`
          : `A browser does not say where “${file.name}” is: give its path in “Open checkpoint…”.`,
      )
    else openCheckpoint(checkpointOf(path)).catch((error: Error) => openProblem.set(error.message))
  })
}

/** What to open for a dropped path: a GGUF file is a checkpoint itself, another file of one means its folder. */
export function checkpointOf(path: string): string {
  return /\.(safetensors|json)$/i.test(path) ? path.replace(/[\\/][^\\/]*$/, '') : path
}

function holdsFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false
}
