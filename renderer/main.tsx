/** Starts the app in #root. */
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode, startTransition } from 'react'
import { createRoot } from 'react-dom/client'
import { fetchAsChosen } from './api/patterns.ts'
import { queryClient } from './api/query-client.ts'
import { connectDesktop, openProblem } from './state/desktop.ts'
import { connectDrop } from './state/drop.ts'
import { connectExamples } from './state/examples.ts'
import { HintProvider } from './ui/hint.tsx'
import './ui/theme.css'
import './ui/controls.css'
import './ui/frame.css'
import './ui/views.css'
import './ui/sweeps.css'
import './ui/paths.css'
import './ui/verify.css'
import { Frame } from './views/frame/frame.tsx'
import { connectKeys } from './views/frame/keys.ts'

fetchAsChosen()
connectDesktop()
connectKeys()
connectDrop()
connectExamples(openProblem.set)
const root = createRoot(document.getElementById('root')!)
// A transition is drawn in slices, so that the first picture is no long task either.
startTransition(() =>
  root.render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queryClient}>
          <HintProvider delay={350} timeout={600}>
            <Frame />
          </HintProvider>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  ),
)
