import t from 'tap';
import { problemFromValidation } from '../../src/errors/from-validation.js';
import { decodeCursor, encodeCursor, type KeyKind } from '../../src/http/cursor.js';
import { buildValidator } from '../../src/validation/compiler.js';
import { CalendarDate, Decimal, Strict } from '../../src/validation/schemas.js';

const schema = Strict({ on: CalendarDate(), price: Decimal({ digits: 3, scale: 2 }) });
const validate = buildValidator({})({ schema, httpPart: 'body' });
const good = { on: '2026-02-28', price: '12.50' };

/** The detail of the one fault of a body; undefined when it has none. */
function faultOf(body: object): string | undefined {
  return validate(body) ? undefined : problemFromValidation(validate.errors as never, 'body').message;
}

t.test('a day exists in the calendar and is in the years 1900 to 2199', async (t) => {
  for (const on of ['1900-01-01', '2024-02-29', '2199-12-31']) {
    t.equal(faultOf({ ...good, on }), undefined, on);
  }
  for (const on of ['2023-02-29', '2026-13-01', '2026-04-31', '1899-12-31', '2026-1-1', '2026-01-01T00:00:00Z', '', ' ']) {
    t.match(faultOf({ ...good, on }), /^`\/on`: This must be a day of the calendar/, on);
  } // biome-ignore format: the faults in one line
});

t.test('a decimal number has no more digits than its column, and is sent as text', async (t) => {
  for (const price of ['0', '999', '12.5', '0.01', '100.00']) {
    t.equal(faultOf({ ...good, price }), undefined, price);
  }
  for (const price of ['1000', '1.234', '01', '-1', '+1', '1.', '.5', '1e2', '1,5', 'NaN', '', '٣']) {
    t.match(
      faultOf({ ...good, price }),
      /^`\/price`: This has the wrong format\. A decimal number such as 12\.50, with at most 3 digits/,
      price,
    );
  }
  t.match(faultOf({ ...good, price: 12.5 }), /must be a string/);
});

t.test('a cursor is accepted only with a key of the type by which its list is sorted', async (t) => {
  const id = '01a21077-73e0-7e4c-b849-bbfc70a69f7b';
  const decoded = (key: string, kind: KeyKind) => {
    try {
      return decodeCursor(encodeCursor({ key, id }, 'scope'), 'scope', kind).key;
    } catch {
      return undefined;
    }
  };
  const keys: Record<KeyKind, { good: string[]; bad: string[] }> = {
    instant: {
      good: ['2026-05-01T18:00:00.123456Z', 'infinity'],
      bad: ['2026-05-01', '2026-05-01T18:00:00', 'now', '', '5'],
    },
    day: {
      good: ['2026-05-01', 'infinity'],
      bad: ['2026-02-30', '2026-05-01T18:00:00Z', 'today', '', '5'],
    },
    integer: {
      good: ['0', '-5', '2147483647'],
      bad: ['2147483648', '9'.repeat(30), '1.5', '1e3', 'NaN', ''],
    },
    decimal: {
      good: ['0', '-5', '12.50', '9'.repeat(30)],
      bad: ['1e400', '.5', '1.', 'NaN', 'Infinity', ''],
    },
    text: { good: ['', 'Mow', '2026'], bad: ['\u0000', '\ud800', 'a\nb'] },
  };
  for (const [kind, { good, bad }] of Object.entries(keys) as [
    KeyKind,
    { good: string[]; bad: string[] },
  ][]) {
    t.same(
      good.filter((key) => decoded(key, kind) !== key),
      [],
      kind,
    );
    t.same(
      bad.filter((key) => decoded(key, kind) !== undefined),
      [],
      kind,
    );
  }
  // PostgreSQL reads neither of these as they are written.
  t.equal(decoded('2026-05-01T18:00:00+23:00', 'instant'), '2026-04-30T19:00:00.000000Z');
  t.equal(decoded(`2026-05-01T18:00:00.${'0'.repeat(300)}Z`, 'instant'), '2026-05-01T18:00:00.000000Z');
});
