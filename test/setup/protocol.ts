import type { Message } from './proxy.js';

/** Whether a message runs a statement that begins with the word, after the comment with its operation. */
export const asksFor = (word: string) => {
  const beginning = new RegExp(`^(/\\*.*?\\*/\\s*)?${word}\\b`);
  return ({ type, statement = '' }: Message) => type === 'B' && beginning.test(statement);
};

/** A message of PostgreSQL's protocol, from its type and its body. */
export function message(type: string, body: string): Buffer {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.write(type, 'latin1');
  bytes.writeUInt32BE(4 + body.length, 1);
  bytes.write(body, 5, 'latin1');
  return bytes;
}
