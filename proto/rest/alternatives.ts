/**
 * One of the forms that an object may have, for the OpenAPI document. The metadata of an object's schema has them as
 * `alternatives`; its checks enforce them. A field that an alternative does not name is ignored in that form.
 */
export interface Alternative {
  /** Fields that must be given. They must not be null, except those in `nullable`. */
  required: readonly string[];
  nullable?: readonly string[];
  /** Fields that may be given. */
  optional?: readonly string[];
  /** Fields that must be omitted or null. */
  absent?: readonly string[];
  /** Required fields with the only value that they may have. */
  values?: Readonly<Record<string, string>>;
}

/** Returns the alternatives of an object that must have exactly one of the fields. */
export const oneOfFields = (fields: readonly string[]): Alternative[] =>
  fields.map((field) => ({ required: [field], absent: fields.filter((other) => other !== field) }));
