import { Config, formatCode, LuaVersion, OutputVerification } from '@johnnymorganz/stylua';

/** Formats Luau with the defaults of StyLua. Throws if the text is not valid Luau. */
export function formatLuau(source: string): string {
  const config = Config.new();
  config.syntax = LuaVersion.Luau;
  return formatCode(source, config, null, OutputVerification.None);
}
