/** The driver knows no list of hosts, and stumbles over a % that encodes nothing. */
export function isOneServer(url: string): boolean {
  try {
    const { username, password, host } = new URL(url);
    decodeURIComponent(username + password);
    return !decodeURIComponent(host).includes(',');
  } catch {
    return false;
  }
}

/** Whether the text is an origin, to the letter as browsers send it: no path, no port that goes without saying. */
export function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Whether the URL leads to this very machine. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname);
}
