/** Where the user's workspace lies when no --store is given. */
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * `workspace.db` in the platform's data folder: `$HEADSCOPE_DATA` when set; else `%LOCALAPPDATA%\Headscope`,
 * `~/Library/Application Support/Headscope`, or `$XDG_DATA_HOME/headscope` (`~/.local/share/headscope`).
 * The folder is made by `openStore`.
 */
export function defaultStorePath(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  return join(dataFolder(env, platform), 'workspace.db')
}

function dataFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  if (env.HEADSCOPE_DATA) return env.HEADSCOPE_DATA
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'Headscope')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'Headscope')
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'headscope')
}
