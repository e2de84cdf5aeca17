/** Calls a list operation for one page after the other, each with the cursor of the previous one. */
export async function* pagesOf<
  Args extends { cursor?: string | undefined },
  Page extends { next_cursor: string | null },
>(list: (args: Args) => Promise<Page>, args: Args): AsyncGenerator<Page, void, void> {
  let next: Args | undefined = args;
  while (next) {
    const page: Page = await list(next);
    yield page;
    next = page.next_cursor === null ? undefined : { ...args, cursor: page.next_cursor };
  }
}
