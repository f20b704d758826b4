/**
 * The gallery of examples: a card each, with a picture of what it opens. Opened from the header, the palette, the first
 * steps and the empty states. A card is a link, so that its address can be copied; a click opens it in place.
 */
import { Dialog } from '@base-ui/react/dialog'
import { type MouseEvent, useSyncExternalStore } from 'react'
import { useAbout } from '../../api/queries.ts'
import { EXAMPLES, type Example, exampleAddress, examplesOpen } from '../../state/examples.ts'
import { showExample } from '../../state/show-example.ts'
import { useTheme } from '../../state/theme.ts'
import { pictureOf } from './pictures.ts'
import '../../ui/examples.css'

export function Examples() {
  const open = useSyncExternalStore(examplesOpen.subscribe, examplesOpen.get)
  const model = useAbout().data?.start?.model
  return (
    <Dialog.Root open={open} onOpenChange={(next) => examplesOpen.set(next)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog examples">
          <div className="examples-head">
            <Dialog.Title className="dialog-title">Examples</Dialog.Title>
            <Dialog.Description className="muted">
              Each opens on the bundled checkpoint{model ? ` ${model}` : ''} and runs here, now. Back leads to
              where you were.
            </Dialog.Description>
            <span className="spacer" />
            <Dialog.Close className="button small">Close</Dialog.Close>
          </div>
          <ul className="example-cards">
            {EXAMPLES.map((example) => (
              <li key={example.name}>
                <Card example={example} />
              </li>
            ))}
          </ul>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Card({ example }: { example: Example }) {
  const picture = pictureOf(example.name, useTheme())
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return // another tab of the browser: the address does it
    event.preventDefault()
    examplesOpen.set(false)
    showExample(example)
  }
  return (
    <a className="example-card" href={exampleAddress(example)} onClick={open}>
      <span
        className="example-picture"
        style={picture ? { backgroundImage: `url("${picture}")` } : {}}
        aria-hidden="true"
      />
      <b>{example.title}</b>
      <span>{example.says}</span>
    </a>
  )
}
