/** A short explanation on hover and focus. The trigger keeps its own meaning; the hint only adds to it. */
import { Tooltip } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'

interface Props {
  readonly children: ReactElement
  readonly text: ReactNode
  readonly side?: 'top' | 'left'
}

export function Hint({ children, text, side = 'top' }: Props) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner side={side} sideOffset={8} className="hint-positioner">
          <Tooltip.Popup className="hint">{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

export const HintProvider = Tooltip.Provider
