import { type Client, type ClientOptions, createClient } from '../../client/src/index.js';
import type { Role } from '../../src/roles.js';
import { listen } from './send.js';
import type { TestService } from './service.js';

/** Clients of a listening service. */
export interface Clients {
  baseUrl: string;
  /** A caller's client; the options override the defaults. */
  as(subject: string, role: Role, clubId: string, options?: Partial<ClientOptions>): Promise<Client>;
}

/** Makes the service listen, for the shipped client. */
export async function openClients({ app, token }: TestService): Promise<Clients> {
  const baseUrl = await listen(app);
  return {
    baseUrl,
    as: async (sub, role, clubId, options = {}) =>
      createClient({
        baseUrl,
        clubId,
        token: token({ sub, name: sub, clubs: { [clubId]: role } }),
        ...options,
      }),
  };
}

/** The error of a promise that must be rejected. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('It was expected to be rejected.');
}
