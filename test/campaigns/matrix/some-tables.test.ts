import t from 'tap';
import { makeDatabase } from '../../setup/database.js';
import { explore } from './exploration.js';
import { PROBE } from './probe.js';
import { seedDatabase } from './seeded-database.js';
import { openSession } from './session.js';

// Planted defects are found here, each in the table that it is about.
const TABLES = process.env.TABLES ?? '^app[.]matrix_';
const CONTEXTS = ['entered', 'nothing', 'a role without a club'];

t.test(`a part of the matrix has no error: ${TABLES}`, async (t) => {
  const db = await makeDatabase(t);
  await db.queryAsAdmin(PROBE);
  const seeded = await seedDatabase(db, await openSession(t, db));
  const { faults } = await explore(seeded, {
    roles: ['Admin'],
    about: new RegExp(TABLES),
    contexts: ({ name }) => CONTEXTS.includes(name),
  });
  t.same(faults, []);
});
