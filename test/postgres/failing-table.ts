import { databaseRows } from './database.ts';

/**
 * Makes every transaction fail that inserts, updates or deletes rows of a guild in a table: with the statement, or else
 * when it commits. Returns a function that ends this.
 */
export async function failWrites(
  url: string,
  table: string,
  guildId: string,
  when: 'statement' | 'commit',
): Promise<() => Promise<unknown>> {
  const name = `fail_${table.replace('.', '_')}_${guildId}`;
  await databaseRows(
    url,
    `CREATE FUNCTION public.${name}() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF coalesce(NEW.guild_id, OLD.guild_id) = '${guildId}' THEN RAISE EXCEPTION 'the test lets it fail'; END IF;
       RETURN coalesce(NEW, OLD);
     END $$`,
  );
  const timing = when === 'commit' ? 'CONSTRAINT TRIGGER' : 'TRIGGER';
  const deferred = when === 'commit' ? 'DEFERRABLE INITIALLY DEFERRED' : '';
  await databaseRows(
    url,
    `CREATE ${timing} ${name} AFTER INSERT OR UPDATE OR DELETE ON ${table} ${deferred}
     FOR EACH ROW EXECUTE FUNCTION public.${name}()`,
  );
  return () => databaseRows(url, `DROP FUNCTION IF EXISTS public.${name} CASCADE`);
}
