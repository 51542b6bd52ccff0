/**
 * On /docs of `make run`: a select with the demo people. The page sends the token of the selected person with every request,
 * and fills in their club as X-Tenant-Id, which can be edited.
 */
(() => {
  const SCHEME = 'token';
  const HEADER = 'X-Tenant-Id';
  const REMEMBERED = 'demo-person';
  const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
  const STYLE = `
    html { scroll-padding-top: 60px; }
    #demo-people { position: sticky; top: 0; z-index: 9; padding: 8px 20px; font: 14px sans-serif;
      color: #3b4151; background: #e8f3ff; border-bottom: 1px solid #8ab4e0; }
    #demo-people label { display: flex; gap: 8px; align-items: center; max-width: 1420px; margin: auto; }
    #demo-people span { white-space: nowrap; }
    #demo-people select { flex: 0 1 auto; min-width: 0; padding: 6px; font: inherit; color: inherit;
      background: #fff; border: 1px solid #8ab4e0; border-radius: 4px; }
    @media (max-width: 640px) {
      html { scroll-padding-top: 80px; }
      #demo-people { padding: 8px; }
      #demo-people label { flex-wrap: wrap; gap: 4px 8px; }
    }
    .dark-mode #demo-people { color: #e4e6e6; background: #1b2a3a; border-color: #3d5a78; }
    .dark-mode #demo-people select { background: #14202c; border-color: #3d5a78; }
  `;

  // The page's own script creates window.ui and dispatches docs-ready when the document has loaded.
  window.addEventListener('docs-ready', () => offer(window.ui));

  async function offer(ui) {
    const people = await (await fetch('/docs/demo-people')).json();
    const bar = document.createElement('div');
    bar.id = 'demo-people';
    bar.innerHTML = '<label><span>Act as</span><select></select></label>';
    const style = document.createElement('style');
    style.textContent = STYLE;
    document.head.append(style);

    const select = bar.querySelector('select');
    select.append(
      ...people.map(({ label }) => new Option(label)),
      new Option('Yourself: press Authorize', ''),
    );
    // An Admin may run every operation of the page.
    const admin = people.findIndex(({ label }) => label.includes('Admin of'));
    select.selectedIndex = Math.max(admin, 0);
    const remembered = localStorage.getItem(REMEMBERED);
    if ([...select.options].some(({ value }) => value === remembered)) {
      select.value = remembered;
    }
    const act = () => become(ui, people[select.selectedIndex]);
    select.addEventListener('change', () => {
      localStorage.setItem(REMEMBERED, select.value);
      if (select.value === '') {
        ui.authActions.logoutWithPersistOption([SCHEME]);
      }
      act();
    });
    act();
    document.body.prepend(bar);
  }

  function become(ui, person) {
    if (person === undefined) {
      return;
    }
    ui.preauthorizeApiKey(SCHEME, person.token);
    for (const [path, operations] of ui.specSelectors.paths().entries()) {
      for (const method of METHODS.filter((name) => operations.has(name))) {
        fillTenant(ui, [path, method], person.clubId);
      }
    }
  }

  function fillTenant(ui, operation, clubId) {
    const shown = ui.specSelectors
      .specJsonWithResolvedSubtrees()
      .getIn(['paths', ...operation, 'parameters'])
      ?.find((parameter) => parameter.get('name') === HEADER);
    ui.specActions.changeParam(operation, HEADER, 'header', clubId, false);
    // A visible field has its own value, which overrides the one above.
    if (shown !== undefined) {
      ui.specActions.changeParamByIdentity(operation, shown, clubId, false);
    }
  }
})();
