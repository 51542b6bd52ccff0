import t from 'tap';
import { makeExample } from '../../setup/example.js';

t.test('the tests that go through all resources hold for the example of a new one', async (t) => {
  const { test } = await makeExample(t);
  const output = await test(
    'api/authorization',
    'api/events',
    'api/fields',
    'api/idempotency-keys',
    'api/lists',
    'api/openapi',
    'api/openapi-examples',
    'api/order',
    'api/ownership',
    'api/rate-limit',
    'api/resources',
    'api/routes',
    'api/texts',
    'api/times',
    'sql/audit-answers',
    'sql/isolation',
    'sql/operate',
    'sql/references',
    'client/methods',
    'database/columns',
    'database/read-plans',
    'tools/requests',
    'source/structure',
  );
  t.match(output, /^\d+ passed, 0 failed$/m, output);
});
