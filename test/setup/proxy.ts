import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';

/** One message of PostgreSQL's protocol, on its way through the proxy. */
export interface Message {
  from: 'client' | 'server';
  /** Its letter, such as Q, B or Z; '' for what a client sends first, which has none. */
  type: string;
  /** Its body as text: enough to recognise a statement or a command tag. */
  text: string;
  /** Of Parse and Bind: the SQL that is prepared or run. */
  statement?: string | undefined;
  /** How many messages went through this connection before it. */
  index: number;
  /** Which connection it is of, counted from 1. */
  connection: number;
}

/**
 * What becomes of a message: `freeze` keeps both sockets open and lets nothing through any more; other bytes go on
 * in its place.
 */
export type Verdict =
  | 'pass'
  | 'cut before'
  | 'cut after'
  | 'freeze'
  | { delayMs: number }
  | { bytes: Buffer };

/** How a stream falls into messages: made once for each direction of a connection. */
export type Splitter = (from: Message['from']) => (chunk: Buffer) => Buffer[];

/** Stands between the service and PostgreSQL and can fail at every message, in both directions. */
export interface TestProxy {
  /** The given URL, through the proxy. */
  url: string;
  /** Every message that went through, or was cut. */
  readonly log: Message[];
  /** Connections that have been accepted so far. */
  readonly accepted: number;
  /** Decides about each message; passes all of them until it is set. */
  judge: (message: Message) => Verdict;
  /** Decides about each new connection: connects it, hangs up, or accepts it and says nothing. */
  greeting: 'connect' | 'hang up' | 'say nothing';
  /** Leads new connections to another server. */
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
    if (proxy.greeting === 'hang up') {
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
    // What was said before the end arrives before it.
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
          const verdict = proxy.judge(message);
          if (verdict === 'freeze') {
            passage.frozen = true;
          } else if (verdict === 'cut before') {
            cutBoth();
          } else {
            const isOther = typeof verdict === 'object' && 'bytes' in verdict;
            await (typeof verdict === 'object' && !isOther && sleep(verdict.delayMs));
            sink.write(isOther ? verdict.bytes : bytes, () => verdict === 'cut after' && cutBoth());
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
    judge: () => 'pass',
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
  /** The prepared statements of the session, by their names. */
  prepared: Map<string, string>;
  frozen: boolean;
  over: boolean;
}

/** Cuts a stream of PostgreSQL's protocol into whole messages. */
function splitMessages(from: Message['from']): (chunk: Buffer) => Buffer[] {
  // Only the client's first message has no letter in front of its length.
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

/** Parse names a statement and its SQL; Bind names a portal and the statement. */
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
