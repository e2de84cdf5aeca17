declare module 'luau-web/src/lib/Luau.Web.Asyncify.js' {
  const create: (host: object) => Promise<object>;
  export default create;
}
