/** SQL that replaces a text in a function, which keeps its owner and its rights. */
export function rewrite(signature: string, ...texts: [from: string, to: string][]): string {
  const body = texts.map(
    ([from, to]) => `
    if position(${quote(from)} in text) = 0 then
      raise exception '% has another text', ${quote(signature)};
    end if;
    text := replace(text, ${quote(from)}, ${quote(to)});`,
  );
  return `do $do$
  declare
    text text := pg_get_functiondef(${quote(signature)}::regprocedure);
  begin ${body.join('')}
    execute text;
  end $do$;`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
