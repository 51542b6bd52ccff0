import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import t from 'tap';
import { ClubDto } from '../src/clubs/schemas.js';
import { buildSerializer } from '../src/http/serializer.js';
import { MemberDto } from '../src/members/schemas.js';
import { ShiftDetailDto, ShiftListDto, ShiftSignupDto } from '../src/shifts/schemas.js';
import { TaskDetailDto, TaskListDto } from '../src/tasks/schemas.js';

type Row = Record<string, unknown>;

const schemas = {
  ClubDto,
  MemberDto,
  TaskListDto,
  TaskDetailDto,
  ShiftListDto,
  ShiftDetailDto,
  ShiftSignupDto,
};
const route = { method: 'GET', url: '/', httpStatus: '200' };
/** Whatever JSON escapes, and more. */
const NASTY = '"\\\b\f\n\r\t\u0000\u001f\u2028/\ud83d é 北 "},{"id":"';
const FREE = [
  'title',
  'name',
  'description',
  'displayName',
  'assigneeName',
  'location',
  'memberName',
  'email',
];

/** A row with nasty texts wherever people write. */
function nasty(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const inner = Array.isArray(value) && value.every((each) => typeof each === 'object');
      return [name, FREE.includes(name) ? NASTY : inner ? value.map(nasty) : value];
    }),
  );
}

t.test('answers are those of the standard serializer, with whatever people write', async (t) => {
  for (const [name, dto] of Object.entries(schemas)) {
    const schema = { type: 'array', items: { $ref: `${name}#` } };
    const ours = buildSerializer(schemas, {})({ ...route, schema });
    const standard = SerializerSelector()(schemas, {})({ ...route, schema });
    const rows = (dto.examples as Row[]).flatMap((row) => [row, nasty(row)]);
    t.ok(rows.length > 0, name);
    t.equal(ours(rows), standard(rows));
    t.match(JSON.parse(ours(rows)), rows);
    // What no schema names is not answered.
    t.equal(ours([{ ...rows[0], sortKey: 'x', password: 'x' }]), ours([rows[0]]));
  }
});
