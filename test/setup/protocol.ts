import type { Message } from './proxy.js';

/** Whether the service asks for a statement that begins with the word; its prepared statements are named after theirs. */
export const asksFor = (word: string) => (message: Message) =>
  message.from === 'client' &&
  ((message.type === 'B' && message.text.startsWith(`\0${word}_`)) ||
    (message.type === 'P' && message.text.startsWith(`\0${word}`)));

/** A message of PostgreSQL's protocol, of its letter and its body. */
export function message(type: string, body: string): Buffer {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 'latin1');
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5, 'latin1');
  return bytes;
}
