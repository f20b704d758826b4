/**
 * The rules that pages obey, wherever they are served from: the HTTP server and the desktop shell's own protocol send
 * the same headers. No dependency, so that the shell can bundle it. Costs nothing.
 */

/**
 * Content security policy of every page. Scripts come from the app itself only. Inline style attributes are allowed
 * because chart tooltips and popovers are positioned with them; they cannot run code.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Headers of every answer. `no-referrer` also keeps a token in the first URL out of any later request. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), usb=(), serial=(), hid=()',
}
