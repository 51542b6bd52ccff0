import type { AddressInfo } from 'node:net';
import { type Client, type ClientOptions, createClient } from '../../client/src/index.js';
import type { Role } from '../../src/roles.js';
import type { TestService } from './service.js';

/** Clients of a service that listens. */
export interface Clients {
  baseUrl: string;
  /** Somebody's client; options stand above what they are by themselves. */
  as(subject: string, role: Role, clubId: string, options?: Partial<ClientOptions>): Promise<Client>;
}

/** Lets the service listen, for clients as they are shipped. */
export async function openClients({ app, token }: TestService): Promise<Clients> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    baseUrl,
    as: async (sub, role, clubId, options = {}) =>
      createClient({
        baseUrl,
        clubId,
        token: await token({ sub, name: sub, clubs: { [clubId]: role } }),
        ...options,
      }),
  };
}

/** Whether the promise is rejected, and with what. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('It was expected to be rejected.');
}
