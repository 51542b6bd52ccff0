/** Whether the text is an origin exactly as browsers send it: no path, no default port. */
export function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Whether the host of the URL is 127.0.0.1, ::1 or localhost. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname);
}
