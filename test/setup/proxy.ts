import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

/** A message of PostgreSQL's protocol that passes the proxy. */
export interface Message {
  from: 'client' | 'server';
  /** Its type, such as Q, B or Z; '' for a client's first message, which has none. */
  type: string;
  /** Its body as text, to recognise a statement or a command tag. */
  text: string;
  /** For Parse and Bind: the SQL that is prepared or run. */
  statement?: string | undefined;
  /** The number of earlier messages of this connection. */
  index: number;
  /** The number of its connection, counted from 1. */
  connection: number;
}

/**
 * What happens to a message: `freeze` keeps both sockets open and forwards nothing more; bytes are forwarded
 * in its place.
 */
export type Action = 'pass' | 'cut before' | 'cut after' | 'freeze' | { delayMs: number } | { bytes: Buffer };

/** Splits a stream into messages: created once for each direction of a connection. */
export type Splitter = (from: Message['from']) => (chunk: Buffer) => Buffer[];

/** A proxy between the service and PostgreSQL that can fail at every message, in both directions. */
export interface TestProxy {
  /** The given URL, through the proxy. */
  url: string;
  /** Every message that was forwarded or cut. */
  readonly log: Message[];
  /** Connections that have been accepted so far. */
  readonly accepted: number;
  /** Open sockets: two for each connection. */
  readonly open: number;
  /** Decides about each message; passes all of them until it is set. */
  onMessage: (message: Message) => Action;
  /** Decides about each new connection: connects it, hangs up, or accepts it and says nothing. */
  greeting: 'connect' | 'hang up' | 'say nothing';
  /** Forwards new connections to another server. */
  setUpstream(url: string): void;
  /** Cuts every connection at once. */
  cut(): void;
  /** Refuses connections from now on, as a server that is down does. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startProxy(t: Test, url: string, split: Splitter = splitMessages): Promise<TestProxy> {
  let target = new URL(url);
  const sockets = new Set<net.Socket>();
  const keep = (socket: net.Socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    return socket;
  };

  const server = net.createServer((client) => {
    accepted += 1;
    keep(client);
    if (proxy.greeting === 'say nothing') {
      // Otherwise it does not notice that the client closes the connection.
      client.resume();
    } else if (proxy.greeting === 'hang up') {
      client.destroy();
    } else if (proxy.greeting === 'connect') {
      const upstream = keep(net.connect(Number(target.port), target.hostname));
      const prepared = new Map<string, string>();
      const passage: Passage = { connection: accepted, count: 0, prepared, frozen: false, over: false };
      relay('client', client, upstream, passage);
      relay('server', upstream, client, passage);
    }
  });

  function relay(from: Message['from'], source: net.Socket, sink: net.Socket, passage: Passage): void {
    const cutBoth = () => {
      passage.over = true;
      source.destroy();
      sink.destroy();
    };
    let queue = Promise.resolve();
    const read = split(from);
    // Data sent before the end arrives before the end.
    source.on('close', () => queue.then(() => passage.frozen || sink.end()));
    source.on('data', (chunk) => {
      for (const bytes of read(chunk)) {
        queue = queue.then(async () => {
          if (passage.frozen || passage.over) {
            return;
          }
          const message = describe(from, bytes, passage);
          passage.count += 1;
          proxy.log.push(message);
          const action = proxy.onMessage(message);
          if (action === 'freeze') {
            passage.frozen = true;
          } else if (action === 'cut before') {
            cutBoth();
          } else {
            const isOther = typeof action === 'object' && 'bytes' in action;
            await (typeof action === 'object' && !isOther && sleep(action.delayMs));
            sink.write(isOther ? action.bytes : bytes, () => action === 'cut after' && cutBoth());
          }
        });
      }
    });
  }

  const start = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = () => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    cut();
    await closed;
  };

  let accepted = 0;
  await start(0);
  const { port } = server.address() as net.AddressInfo;
  const through = new URL(url);
  through.host = `127.0.0.1:${port}`;
  t.teardown(() => server.listening && stop());
  const proxy: TestProxy = {
    url: through.href,
    log: [],
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    onMessage: () => 'pass',
    greeting: 'connect',
    setUpstream: (other) => {
      target = new URL(other);
    },
    cut,
    stop,
    start: () => start(port),
  };
  return proxy;
}

interface Passage {
  connection: number;
  count: number;
  /** The prepared statements of the session, by name. */
  prepared: Map<string, string>;
  frozen: boolean;
  over: boolean;
}

/** Splits a stream of PostgreSQL's protocol into messages. */
function splitMessages(from: Message['from']): (chunk: Buffer) => Buffer[] {
  // Only the client's first message has no type before its length.
  let letter = from === 'server' ? 1 : 0;
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const messages: Buffer[] = [];
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= letter + 4) {
      const end = letter + rest.readUInt32BE(letter);
      if (rest.length < end) {
        break;
      }
      messages.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      letter = 1;
    }
    return messages;
  };
}

function describe(from: Message['from'], bytes: Buffer, passage: Passage): Message {
  const { count: index, connection, prepared } = passage;
  const isStartup = from === 'client' && index === 0;
  const type = isStartup ? '' : String.fromCharCode(bytes[0] as number);
  const text = bytes.toString('latin1', isStartup ? 4 : 5);
  return { from, type, text, statement: statementOf(from, type, text, prepared), index, connection };
}

/** Parse contains a statement name and its SQL; Bind a portal and the statement name. */
function statementOf(
  from: Message['from'],
  type: string,
  text: string,
  prepared: Map<string, string>,
): string | undefined {
  const [first = '', second = ''] = text.split('\0', 2);
  if (from === 'client' && type === 'P') {
    prepared.set(first, second);
    return second;
  }
  return from === 'client' && type === 'B' ? prepared.get(second) : undefined;
}

/** Whether a message runs a statement that begins with the word, after the comment with its operation. */
export const isStatement = (word: string) => {
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
