import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { Piece } from './rows.js';

/** The driver's connection, and who reads the rows of what is under way on it. */
export interface Connection extends pg.Connection {
  rowReader?: RowReader | undefined;
}

export interface RowReader {
  /** @param at where the DataRow begins, behind its type and length */
  readRow(piece: Piece, at: number): void;
}

/** What the types of the driver leave out. */
interface Inside {
  connection: Connection & { attachListeners(stream: Stream): void };
  getStartupConf(): object;
}
type Stream = Pick<Duplex, 'on' | 'destroy'>;
const driver = pg.Client.prototype as unknown as Inside;

const DATA_ROW = 'D'.charCodeAt(0);
const TYPE_LENGTH = 1;
const HEADER_LENGTH = 5;
const NOTHING = Buffer.alloc(0);

/**
 * The driver's client, which connects, authenticates and reads every message but rows. Of those it would make one
 * string for each column by a call into C++, and tell them one by one.
 */
export class Client extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as Inside;
    const attachListeners = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      const others = new EventEmitter();
      attachListeners(others as Duplex);
      readRows(stream, connection, (messages) => others.emit('data', messages));
    };
  }

  /** Says at the start how instants are to be printed; a pooler passes that on. */
  getStartupConf(): object {
    return { ...driver.getStartupConf.call(this), TimeZone: 'UTC', DateStyle: 'ISO' };
  }
}

/** Hands rows to whoever reads them, and all that is between them to the driver, in order. */
function readRows(stream: Stream, connection: Connection, onOthers: (messages: Buffer) => void): void {
  let rest: Buffer = NOTHING;
  const split = (received: Buffer) => {
    const bytes = rest.length === 0 ? received : Buffer.concat([rest, received]);
    let piece: Piece | undefined;
    let others = 0;
    let at = 0;
    while (at + HEADER_LENGTH <= bytes.length) {
      const next = at + TYPE_LENGTH + bytes.readUInt32BE(at + TYPE_LENGTH);
      if (next > bytes.length) {
        break;
      }
      if (bytes[at] === DATA_ROW) {
        // First what is before it, which may be the end of what is under way.
        if (others < at) {
          onOthers(bytes.subarray(others, at));
          others = at;
        }
        if (connection.rowReader !== undefined) {
          piece ??= new Piece(bytes);
          connection.rowReader.readRow(piece, at + HEADER_LENGTH);
          others = next;
        }
      }
      at = next;
    }
    if (others < at) {
      onOthers(bytes.subarray(others, at));
    }
    rest = at === bytes.length ? NOTHING : bytes.subarray(at);
  };
  stream.on('data', (received: Buffer) => {
    try {
      split(received);
    } catch (error) {
      // The driver throws at what it does not know, such as a way to authenticate. Nobody else would catch that.
      stream.destroy(error as Error);
    }
  });
}
