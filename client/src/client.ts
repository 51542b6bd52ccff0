import { type ClientOptions, type Connection, connect } from './connection.js';
import * as resources from './generated/resources.js';
import { type Health, healthOf } from './health.js';
import { type Sender, senderOf } from './send.js';

/** The methods of each resource: `client.tasks`, `client.shifts` and so on. */
export type Resources = { readonly [Name in keyof typeof resources]: ReturnType<(typeof resources)[Name]> };

export interface Client extends Resources {
  readonly health: Health;
  /** The same client for another club. */
  club(id: string): Client;
}

/**
 * Creates a client of the Club Management Service.
 *
 * @throws TypeError when baseUrl is not a URL
 */
export function createClient(options: ClientOptions): Client {
  return clientOf(connect(options), options.clubId);
}

function clientOf(connection: Connection, clubId: string | undefined): Client {
  const sender = senderOf(connection, clubId);
  return {
    ...resourcesOf(sender),
    health: healthOf(sender),
    club: (id) => clientOf(connection, id),
  };
}

function resourcesOf(sender: Sender): Resources {
  const methods = Object.entries(resources).map(([name, methodsOf]) => [name, methodsOf(sender)]);
  return Object.fromEntries(methods) as Resources;
}
