/** A request's target, such as `/a/b?c=d`, in its path and its query: what stands before and behind the first `?`. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?');
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
