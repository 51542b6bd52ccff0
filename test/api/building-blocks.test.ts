import t from 'tap';
import { problemFromValidation } from '../../src/errors/from-validation.js';
import { buildValidator } from '../../src/validation/compiler.js';
import { CalendarDate, Decimal, Strict } from '../../src/validation/schemas.js';

const schema = Strict({ on: CalendarDate(), price: Decimal({ digits: 3, scale: 2 }) });
const validate = buildValidator({})({ schema, httpPart: 'body' });
const good = { on: '2026-02-28', price: '12.50' };

/** The sentence about the one fault of a body; undefined when it has none. */
function faultOf(body: object): string | undefined {
  return validate(body) ? undefined : problemFromValidation(validate.errors as never, 'body').message;
}

t.test('a day is one of the calendar, in the years 1900 to 2199', async (t) => {
  for (const on of ['1900-01-01', '2024-02-29', '2199-12-31']) {
    t.equal(faultOf({ ...good, on }), undefined, on);
  }
  for (const on of ['2023-02-29', '2026-13-01', '2026-04-31', '1899-12-31', '2026-1-1', '2026-01-01T00:00:00Z', '', ' ']) {
    t.match(faultOf({ ...good, on }), /^`\/on`: This must be a day of the calendar/, on);
  } // biome-ignore format: the faults in one line
});

t.test('a decimal number has no more digits than its column, and is written as text', async (t) => {
  for (const price of ['0', '999', '12.5', '0.01', '100.00']) {
    t.equal(faultOf({ ...good, price }), undefined, price);
  }
  for (const price of ['1000', '1.234', '01', '-1', '+1', '1.', '.5', '1e2', '1,5', 'NaN', '', '٣']) {
    t.match(
      faultOf({ ...good, price }),
      /^`\/price`: This must be of another form\. A decimal number such as 12\.50, with at most 3 digits/,
      price,
    );
  }
  t.match(faultOf({ ...good, price: 12.5 }), /must be a string/);
});
