/** What this machine cannot do at all. Light enough for the desktop shell, which asks before it starts the engine. */

/** Why no model can run here, as a sentence; null where the runtime has a build. */
export function whyNoRuntime(
  host: { readonly platform: string; readonly arch: string } = process,
): string | null {
  return host.platform === 'darwin' && host.arch === 'x64'
    ? 'ONNX Runtime has no build for Macs with an Intel processor, so no model can be run here; inspect and sql work.'
    : null
}
