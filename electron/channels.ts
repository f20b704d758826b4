/** Names of the messages between the window's preload and the main process. */
export const CHANNELS = {
  /** Preload → main: the page listens, send what has waited. */
  listening: 'headscope:listening',
  /** Preload → main: show the folder dialog. */
  choose: 'headscope:choose',
  /** Preload → main: how far the work is, 0 to 1, or null. */
  progress: 'headscope:progress',
  /** Main → preload. */
  open: 'headscope:open',
  command: 'headscope:command',
  engine: 'headscope:engine',
} as const
