import t from 'tap';
import { withClient } from '../../../src/deploy/client.js';
import { makeDatabase } from '../../setup/database.js';
import { mutantsOf, tryAll } from './mutation.js';

t.test('every weakening is found by its check, every check finds one, and its SQL fixes it', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => tryAll(t, client, await mutantsOf(db)));
});
