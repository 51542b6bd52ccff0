/** Whether the text is an origin, to the letter as browsers send it: no path, no port that goes without saying. */
export function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Whether the URL leads to this very machine. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname);
}
