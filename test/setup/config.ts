import { ConfigurationError, readServerConfig } from '../../src/config.js';

/** The required settings of production only. */
export const production = {
  DATABASE_URL: 'postgres://club_api@db.example.org/club',
  AUTH_ISSUER: 'https://id.example.org/',
};

/** The lines of the error, one for each invalid variable; none when the configuration is valid. */
export function configErrors(environment: Record<string, string>): string[] {
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

/** The invalid variables when these override a valid configuration for production. */
export function invalidVariables(environment: Record<string, string>): string[] {
  return configErrors({ ...production, ...environment }).map((error) => error.trim().split(' ', 1)[0] ?? '');
}
