import t from 'tap';
import { csv } from '../../client/src/index.js';

async function textOf(...given: Parameters<typeof csv>): Promise<string> {
  let text = '';
  for await (const line of csv(...given)) {
    text += line;
  }
  return text;
}

t.test('rows become lines after RFC 4180, with a byte order mark and the names of the fields', async (t) => {
  const rows = [
    { name: 'Äpfel', text: 'a, "b"', number: -5, isOpen: true, none: null, list: ['a', 1] },
    { name: 'two\r\nlines', text: '', number: 0.5, isOpen: false, none: undefined, list: [] },
  ];
  t.equal(
    await textOf(rows),
    '\ufeffname,text,number,isOpen,none,list\r\n' +
      'Äpfel,"a, ""b""",-5,true,,"[""a"",1]"\r\n' +
      '"two\r\nlines",,0.5,false,,[]\r\n',
  );
  async function* later() {
    yield* rows;
  }
  t.equal(await textOf(later()), await textOf(rows));
  t.equal(await textOf([{ a: 'x;y', b: 'x,y' }], { delimiter: ';' }), '\ufeffa;b\r\n"x;y";"x,y"\r\n');
  t.equal(
    await textOf([{ a: 'a;=1+1', b: 'x\ty' }]),
    '\ufeffa,b\r\n"a;=1+1","x\ty"\r\n',
    'for a spreadsheet with another delimiter',
  );
  t.equal(await textOf([]), '');
});

t.test('a text that a spreadsheet would run begins with an apostrophe, a number never does', async (t) => {
  for (const text of ['=1+1', '+1', '-1', '@sum', '\tx', '\rx']) {
    const cell = /^[\t\r]/.test(text) ? `"'${text}"` : `'${text}`;
    t.equal(await textOf([{ text }]), `\ufefftext\r\n${cell}\r\n`, JSON.stringify(text));
  }
  for (const value of [-1, -0.5, -5n, '1', 'a=1', "'=1", ' =1', '']) {
    t.equal(await textOf([{ value }]), `\ufeffvalue\r\n${value}\r\n`);
  }
});

t.test('a time is in UTC and in the time zone, on the days of a change too', async (t) => {
  const rows = ['2031-10-26T00:30:00Z', '2031-10-26T01:30:00.5Z', null].map((startsAt) => ({
    startsAt,
    id: 1,
  }));
  t.equal(
    await textOf(rows, { timeZone: 'Europe/Berlin' }),
    '\ufeffstartsAt,startsAtLocal,id\r\n' +
      '2031-10-26T00:30:00Z,2031-10-26 02:30:00,1\r\n' +
      '2031-10-26T01:30:00.5Z,2031-10-26 02:30:00,1\r\n' +
      ',,1\r\n',
  );
  t.equal(await textOf(rows.slice(0, 1)), '\ufeffstartsAt,id\r\n2031-10-26T00:30:00Z,1\r\n');
  t.equal(
    await textOf([{ at: '2031-07-01T00:30:00Z', dueAt: new Date(0), format: 'A', startsAtLocal: 'b' }], {
      timeZone: 'Asia/Tokyo',
    }),
    '\ufeffat,atLocal,dueAt,dueAtLocal,format,startsAtLocal\r\n' +
      '2031-07-01T00:30:00Z,2031-07-01 09:30:00,1970-01-01T00:00:00.000Z,1970-01-01 09:00:00,A,b\r\n',
    'the time of an event, and a Date',
  );
  await t.rejects(textOf(rows, { timeZone: 'Nowhere' }), { name: 'RangeError' });
});
