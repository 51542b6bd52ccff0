export interface Login {
  user: string;
  password: string;
}

/** The URL of the same server with another database and login. */
export function urlOf(adminUrl: string, database: string, login?: Login): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  if (login !== undefined) {
    url.username = login.user;
    url.password = login.password;
  }
  return url.href;
}
