import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import type { Test } from 'tap';
import { serve } from './send.js';

export const RESOURCE = 'https://clubs.example.org/api';
const CLIENT = { client_id: 'club-app', client_secret: 'of-no-importance-at-all-0123456789' };
const REDIRECT = 'https://app.example.org/callback';
const DAYS_S = 86_400;

/** The tokens of a login. */
export interface Tokens {
  access_token: string;
  id_token: string;
}

/** A certified OpenID provider on its own port. */
export interface OpenIdProvider {
  url: string;
  /** How often its keys were fetched. */
  fetches(): number;
  /** Changes the keys: the first one signs, all are published. */
  rotate(keys: object[]): void;
  /** Logs a user in to the application, by the authorization code flow, with a token for the API. */
  logIn(subject: string): Promise<Tokens>;
  /** A token for the API for the application itself, by its client credentials. */
  ownToken(): Promise<string>;
}

/** @param clubsOf the claim `clubs` of a subject's access tokens */
export async function startOpenIdProvider(
  t: Test,
  keys: object[],
  clubsOf: (subject: string) => Record<string, string>,
): Promise<OpenIdProvider> {
  let fetches = 0;
  let answer: (request: IncomingMessage, response: ServerResponse) => unknown = () => {};
  const server = createServer((request, response) => answer(request, response));
  const url = await serve(t, server);

  const rotate: OpenIdProvider['rotate'] = (jwks) => {
    const provider = makeProvider(url, jwks, clubsOf);
    const respond = provider.callback();
    answer = async (request, response) => {
      fetches += request.url === '/jwks' ? 1 : 0;
      if (!request.url?.startsWith('/interaction/')) {
        return respond(request, response);
      }
      // In place of the login page: the user of login_hint is logged in and consents.
      const { params } = await provider.interactionDetails(request, response);
      const login = { accountId: String(params.login_hint) };
      return provider.interactionFinished(request, response, { login });
    };
  };
  rotate(keys);

  const requestToken = async (body: Record<string, string>): Promise<Tokens> => {
    const response = await fetch(`${url}/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...CLIENT, resource: RESOURCE, ...body }),
    });
    if (!response.ok) {
      throw new Error(await response.text());
    }
    return (await response.json()) as Tokens;
  };

  return {
    url,
    fetches: () => fetches,
    rotate,
    logIn: async (subject) => {
      const parameters = {
        client_id: CLIENT.client_id,
        redirect_uri: REDIRECT,
        response_type: 'code',
        scope: 'openid profile',
        resource: RESOURCE,
        login_hint: subject,
      };
      const code = await browse(`${url}/auth?${new URLSearchParams(parameters)}`);
      return requestToken({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT });
    },
    ownToken: async () => (await requestToken({ grant_type: 'client_credentials' })).access_token,
  };
}

/** Follows redirects with cookies, as a browser, back to the application. */
async function browse(start: string): Promise<string> {
  const cookies = new Map<string, string>();
  let place = new URL(start);
  for (let step = 0; step < 10 && !place.href.startsWith(REDIRECT); step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(place, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) {
      throw new Error(`${place} leads nowhere: ${response.status} ${await response.text()}`);
    }
    place = new URL(location, place);
  }
  const code = place.searchParams.get('code');
  if (code === null) {
    throw new Error(`No code: ${place}`);
  }
  return code;
}

function makeProvider(
  issuer: string,
  keys: object[],
  clubsOf: (subject: string) => Record<string, string>,
): Provider {
  return new Provider(issuer, {
    jwks: { keys },
    clients: [
      {
        ...CLIENT,
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'client_credentials'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    cookies: { keys: ['of-no-importance-either'] },
    pkce: { required: () => false },
    claims: { openid: ['sub'], profile: ['name'] },
    conformIdTokenClaims: false,
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `${sub} of the provider` }),
    }),
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        accountId: String(oidc.session?.accountId),
        clientId: CLIENT.client_id,
      });
      grant.addOIDCScope('openid profile');
      grant.addResourceScope(RESOURCE, 'clubs');
      await grant.save();
      return grant;
    },
    extraTokenClaims: (_context, token) =>
      'accountId' in token
        ? { clubs: clubsOf(String(token.accountId)), name: `${token.accountId} of the provider` }
        : { clubs: clubsOf(CLIENT.client_id) },
    ttl: { AccessToken: 2 * DAYS_S, ClientCredentials: 2 * DAYS_S, IdToken: 2 * DAYS_S },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        getResourceServerInfo: () => ({
          scope: 'clubs',
          audience: RESOURCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 2 * DAYS_S,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
}
