/** The window: header, library, token strip and tabs, inspector, status bar. */
import { Tabs } from '@base-ui/react/tabs'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { Group, Panel, Separator, useDefaultLayout } from 'react-resizable-panels'
import { useModel } from '../../api/queries.ts'
import { openProblem, useEngineState, useOpenProblem } from '../../state/desktop.ts'
import { exampleIn, openExample } from '../../state/examples.ts'
import { firstStart } from '../../state/open.ts'
import { getSelection, select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Examples } from '../examples/examples.tsx'
import { VIEWS, viewsOf } from '../index.ts'
import { Inspector } from '../inspector/inspector.tsx'
import { Library } from '../library/library.tsx'
import { TokenStrip } from '../tokens/token-strip.tsx'
import { EditStack } from './edit-stack.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Header } from './header.tsx'
import { KeyMap } from './key-map.tsx'
import { Palette } from './palette.tsx'
import { StatusBar } from './status-bar.tsx'
import { TabRow } from './tab-row.tsx'

/** A narrow window, or a large zoom, begins with narrow sides: they keep their share when it changes. */
const narrow = innerWidth < 1100
const startedEmpty = getSelection().model === null

export function Frame() {
  const theme = useTheme()
  const layout = useDefaultLayout({ id: 'headscope.frame', storage: localStorage })
  document.documentElement.dataset.theme = theme
  return (
    <div className="frame">
      <Header />
      <Banner />
      <Group className="panes" {...layout}>
        <Panel
          id="library"
          defaultSize={narrow ? '150px' : '208px'}
          minSize="150px"
          maxSize="380px"
          collapsible
        >
          <Library />
        </Panel>
        <Separator className="splitter" />
        <Panel id="centre" minSize="420px">
          <main className="centre">
            <TokenStrip />
            <FirstSteps />
            <Centre />
          </main>
        </Panel>
        <Separator className="splitter" />
        <Panel
          id="inspector"
          defaultSize={narrow ? '210px' : '268px'}
          minSize="210px"
          maxSize="440px"
          collapsible
        >
          <Inspector />
        </Panel>
      </Group>
      <EditStack />
      <StatusBar />
      <Palette />
      <KeyMap />
      <Examples />
    </div>
  )
}

/** What happened to the engine, or to a folder that came from outside. */
function Banner() {
  const engine = useEngineState()
  const problem = useOpenProblem()
  const message = engine.message ?? problem
  if (message === null) return null
  return (
    <div className="banner" role="alert">
      <p>{message}</p>
      {engine.message === null && (
        <button
          type="button"
          className="icon-button"
          aria-label="Dismiss"
          onClick={() => openProblem.set(null)}
        >
          ✕
        </button>
      )}
    </div>
  )
}

function viewOf(tab: string) {
  return VIEWS.find((v) => v.id === tab) ?? VIEWS[0]!
}

function Centre() {
  const tab = useSelection((s) => s.tab)
  const known = viewOf(tab)
  const drawn = viewOf(useDeferredValue(tab)) // a large view is drawn in short tasks: its tab is marked before
  const model = useSelection((s) => s.model)
  const opened = useModel().data
  const start = useQuery({
    queryKey: ['first-start'],
    queryFn: async () => {
      const example = exampleIn(location.hash)
      await (example ? openExample(example) : firstStart())
      return true
    },
    enabled: startedEmpty,
    retry: false,
  })
  if (model === null && start.isError)
    return <Failed error={start.error} retry={() => void start.refetch()} />
  if (model === null && start.isFetching) return <Waiting text="Opening the bundled checkpoint…" />
  if (model === null)
    return (
      <Empty title="No checkpoint is open">
        <p>Choose one on the left, or open a folder that holds config.json and model.safetensors.</p>
      </Empty>
    )
  const own = viewsOf(opened)
  const shown = VIEWS.filter((v) => v === known || own.includes(v))
  return (
    <Tabs.Root className="tabs" value={known.id} onValueChange={(next: string) => select({ tab: next })}>
      <TabRow views={shown} open={known.id} />
      <Tabs.Panel key={drawn.id} value={known.id} className="tab-panel" aria-busy={drawn !== known}>
        <drawn.view />
      </Tabs.Panel>
    </Tabs.Root>
  )
}
