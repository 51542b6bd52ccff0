import { readFile } from 'node:fs/promises';

/** The operating-system account that the server's processes run as and that owns their files. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
  /** True when it is not the caller's own account, so that child processes have to change over to it. */
  switched: boolean;
}

/**
 * An unprivileged caller runs the server itself; PostgreSQL refuses root, so root lends it an existing
 * account.
 */
export async function serverAccount(): Promise<Account> {
  const uid = process.getuid?.() ?? -1;
  if (uid !== 0) {
    return { name: `uid ${uid}`, uid, gid: process.getgid?.() ?? -1, switched: false };
  }
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const account = findAccount(passwd, 'postgres') ?? findAccount(passwd, 'nobody');
  if (account === undefined) {
    throw new Error(
      'PostgreSQL refuses to run as root, and there is neither an account postgres nor nobody to run it as; ' +
        'set DATABASE_URL',
    );
  }
  return account;
}

function findAccount(passwd: string, name: string): Account | undefined {
  for (const line of passwd.split('\n')) {
    const [entry, , uid, gid] = line.split(':');
    if (entry === name && Number(uid) !== 0) {
      // macOS writes nobody as -2, but reports its files as belonging to the unsigned form of that.
      return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0, switched: true };
    }
  }
  return undefined;
}
