import { isIP } from 'node:net';

/** Whether the text is an IP address or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const longest = { 4: 32, 6: 128 }[isIP(address)] ?? 0;
  const isPrefix = prefix === undefined || (/^[1-9]\d*$/.test(prefix) && Number(prefix) <= longest);
  return longest > 0 && isPrefix && rest.length === 0;
}
