/** Gives the person a file: as a download, named after what it shows. */
export function saveFile(title: string, extension: string, content: string | Blob, type: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }))
  link.download = `${title.replaceAll(/[^\w.-]+/g, '-').replaceAll(/^-+|-+$/g, '')}.${extension}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
