/**
 * The tabs of the views, always one row. Where they do not fit, the row scrolls: its cut edge fades, the wheel moves it,
 * the open tab comes into view. A menu beside it lists all views with what they answer, in groups.
 */
import { Menu } from '@base-ui/react/menu'
import { Tabs } from '@base-ui/react/tabs'
import { useCallback } from 'react'
import { select } from '../../state/store.ts'
import { GROUPS, type ViewTab } from '../index.ts'

export function TabRow({ views, open }: { views: readonly ViewTab[]; open: string }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another open tab has to come into view
  const follow = useCallback((list: HTMLDivElement | null) => (list ? followEdges(list) : undefined), [open])
  return (
    <div className="tab-row">
      <Tabs.List className="tab-list" aria-label="Views" ref={follow}>
        {views.map((v, i) => (
          <Tabs.Tab
            key={v.id}
            value={v.id}
            className={i > 0 && views[i - 1]!.group !== v.group ? 'tab begins-group' : 'tab'}
            title={v.says}
          >
            {v.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Menu.Root>
        <Menu.Trigger className="icon-button tab-more" aria-label="All views" title="All views">
          ▾
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner sideOffset={4} align="end" className="choice-positioner">
            <Menu.Popup className="choice-popup view-menu">
              {GROUPS.map((group) => (
                <Menu.Group key={group.id} className="view-group">
                  <Menu.GroupLabel className="view-group-name">{group.label}</Menu.GroupLabel>
                  {views.map((v, i) =>
                    v.group === group.id ? (
                      <Menu.Item
                        key={v.id}
                        className="choice-item"
                        label={v.label}
                        aria-label={v.label}
                        onClick={() => select({ tab: v.id })}
                      >
                        <span className={v.id === open ? 'view-name is-open' : 'view-name'}>{v.label}</span>
                        <span className="muted small-text">{v.says}</span>
                        {i < 9 && <kbd>{i + 1}</kbd>}
                      </Menu.Item>
                    ) : null,
                  )}
                </Menu.Group>
              ))}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </div>
  )
}

/** Marks which edges of the row are cut, whenever it or its window changes; written straight to the element. */
function followEdges(list: HTMLDivElement): () => void {
  const mark = () => {
    const room = list.scrollWidth - list.clientWidth
    const row = list.parentElement?.dataset
    if (!row) return
    row.cut =
      room <= 1 ? 'none' : list.scrollLeft <= 1 ? 'right' : list.scrollLeft >= room - 1 ? 'left' : 'both'
  }
  const show = () => {
    list.querySelector(`[aria-selected="true"]`)?.scrollIntoView({ inline: 'nearest', block: 'nearest' })
    mark()
  }
  const wheel = (event: WheelEvent) => {
    if (Math.abs(event.deltaY) > Math.abs(event.deltaX)) list.scrollLeft += event.deltaY
  }
  const observer = new ResizeObserver(show)
  observer.observe(list)
  list.addEventListener('scroll', mark, { passive: true })
  list.addEventListener('wheel', wheel, { passive: true })
  // After the view that was opened is laid out: asked for now, the whole window would be laid out twice.
  const frame = requestAnimationFrame(show)
  return () => {
    cancelAnimationFrame(frame)
    observer.disconnect()
    list.removeEventListener('scroll', mark)
    list.removeEventListener('wheel', wheel)
  }
}
