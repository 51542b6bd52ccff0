import { ConfigurationError, readServerConfig } from '../../src/config.js';

/** What production must have, and nothing else. */
export const production = {
  DATABASE_URL: 'postgres://club_api@db.example.org/club',
  AUTH_ISSUER: 'https://id.example.org/',
};

/** The lines of the refusal, a fault each; none when the configuration is good. */
export function faultsOf(environment: Record<string, string>): string[] {
  try {
    readServerConfig({}, environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) {
      throw error;
    }
    return error.message.split('\n').slice(1);
  }
}

/** The variables that are faulty when these stand over a good configuration for production. */
export function faultyIn(environment: Record<string, string>): string[] {
  return faultsOf({ ...production, ...environment }).map((fault) => fault.trim().split(' ', 1)[0] ?? '');
}
