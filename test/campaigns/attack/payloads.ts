/** Texts with a meaning for some interpreter on the way, if it does not treat them as data. */

/** The end of every payload, which identifies it wherever it appears. */
export const MARK = 'q7zmark';

/** An injected query sleeps, long enough to be seen in the database. */
const SLEEP = 'pg_sleep(4)';

const sql = [
  "'", "''", '"', '`', "';--", "'; drop table app.tasks cascade; --", "' or '1'='1", "') or ('1'='1", "' and 1=0 union select null, version()--",
  `'; select ${SLEEP}; --`, `1; select ${SLEEP}`, `' || ${SLEEP} || '`, `1) or 1=(select 1 from ${SLEEP})--`, `(select ${SLEEP})`,
  `' and (select 1 from ${SLEEP}) is null --`, `\\'; select ${SLEEP}; --`, `$$; select ${SLEEP}; $$`, `"; select ${SLEEP}; --`,
  `'; commit; select ${SLEEP}; --`, `\u02bc; select ${SLEEP}; --`, `\uff07; select ${SLEEP}; --`, `\u00bf'; select ${SLEEP}; --`,
  `%27; select ${SLEEP}; --`, `&#39;; select ${SLEEP}; --`, `0; select ${SLEEP}; /*`, `99999999-9999-4999-8999-999999999999'; select ${SLEEP}; --`,
  '$1', '$2::text', '?', ':name', '\u0024{1}', '$tag$', '\\', '\\\\', "E'\\x27'", "U&'\\0027'", "'::int", '::regclass', '{1,2}', '{"a"', '[1,2)',
  '(1,2)', 'array[1]', '/* a', '*/', '/*!50000 a */', '-- a', '#', ';', '; rollback', '\0', '\x1a', '%', '_', '%_\\%', 'null', 'NaN', 'infinity',
  '0x27', '1e309', '-1', "current_setting('app.tenant_id')", "'; set local row_security = off; --", "'; reset role; --",
  "'; set app.tenant_id = ''; --", "'; copy app.tasks to program 'id'; --", "'||(select usename from pg_user limit 1)||'",
]; // biome-ignore format: a list

const log = [
  'a\r\nb', 'a\nb', 'a\rb', '\n{"level":60,"msg":"all is lost"}', '"}\n{"level":60,"msg":"all is lost"', '","level":60,"msg":"', '\\","a":"',
  '\u001b[2J\u001b[31mred', '\u001b]0;title\u0007', '\u009b31m', 'a\u2028b', 'a\u2029b', 'a\u0085b', 'a\u000bb', 'a\bb', 'a\tb', 'a\u007fb',
  '\u202eltr', '\ufeffa', '\u200b', '%s%n%d', '%o%O%j', '\u0024{jndi:ldap://localhost/a}', '{{7*7}}', '<script>alert(1)</script>', '\ud800', '\udfff',
]; // biome-ignore format: a list

const header = [
  'a\r\nX-Evil: 1', 'a\nX-Evil: 1', 'a\rX-Evil: 1', '\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', '%0d%0aX-Evil: 1', '%250aX-Evil: 1', '\u560a\u560dX-Evil: 1',
  '\u010aX-Evil: 1', 'a\r\n Set-Cookie: a=b', '>; rel="next", <http://localhost/>; rel="next"', '<http://localhost/>', '//localhost/', '\\\\localhost\\',
  '../../x', '..%2f..%2fx', '?a=b', '#a', 'a;b', 'a,b', '"a"', 'W/"1"', '"1" "', '*, *', '\u00e9', '\u{1f600}',
]; // biome-ignore format: a list

const sheet = [
  '=HYPERLINK("http://localhost/","a")', '=1+1', '+1+1', '-1+1', '@SUM(1)', '|calc', '\t=1', ';=1', "=cmd|' /C calc'!A0", ',=1', '"=1', "'=1",
]; // biome-ignore format: a list

export const payloads = [...sql, ...log, ...header, ...sheet].map((text) => `${text} ${MARK}`);
