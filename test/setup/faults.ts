import { ConfigurationError, readServerConfig } from '../../src/config.js';

/** The required settings of production only. */
export const production = {
  DATABASE_URL: 'postgres://club_api@db.example.org/club',
  AUTH_ISSUER: 'https://id.example.org/',
};

/** The lines of the error, one per fault; none when the configuration is valid. */
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

/** The faulty variables when these override a valid configuration for production. */
export function faultyIn(environment: Record<string, string>): string[] {
  return faultsOf({ ...production, ...environment }).map((fault) => fault.trim().split(' ', 1)[0] ?? '');
}
