/** A short explanation on hover and focus. The trigger keeps its own meaning; the hint only adds to it. */
import { Tooltip } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'

export function Hint({ children, text }: { children: ReactElement; text: ReactNode }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="hint-positioner">
          <Tooltip.Popup className="hint">{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

export const HintProvider = Tooltip.Provider
