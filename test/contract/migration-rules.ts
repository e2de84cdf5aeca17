import { concurrentStatement, statementsOf } from '#kit/postgres/migrations/files.ts';

interface Rule {
  pattern: RegExp;
  fault: string;
  /** The rule does not apply to tables that the same file creates, because they are empty and nobody uses them yet. */
  spares?: 'new tables';
}

/** What would block requests while it runs on a large table, or break the previous release on the new schema. */
const RULES: readonly Rule[] = [
  {
    pattern: /^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)(?:IF NOT EXISTS )?\w+ ON (?!ONLY )([\w.]+)/i,
    fault: 'blocks writes while it builds an index: use CREATE INDEX CONCURRENTLY in a file of its own',
    spares: 'new tables',
  },
  {
    pattern:
      /^ALTER TABLE (?:IF EXISTS |ONLY )*([\w.]+) .*\bADD (?:CONSTRAINT \w+ )?(?:UNIQUE|PRIMARY KEY|EXCLUDE)\b(?! USING INDEX)/i,
    fault: 'blocks reads while it builds an index: create it concurrently, then ADD CONSTRAINT … USING INDEX',
    spares: 'new tables',
  },
  {
    pattern:
      /^ALTER TABLE (?:IF EXISTS |ONLY )*([\w.]+) .*\bADD (?:CONSTRAINT \w+ )?(?:CHECK|FOREIGN KEY)\b(?!.*\bNOT VALID\b)/i,
    fault: 'blocks writes while it reads the table: add it NOT VALID, and VALIDATE CONSTRAINT in a later file',
    spares: 'new tables',
  },
  {
    pattern: /^ALTER TABLE (?:IF EXISTS |ONLY )*([\w.]+) .*\bALTER (?:COLUMN )?\w+ (?:SET DATA )?TYPE\b/i,
    fault: 'may rewrite the table while it blocks reads: add another column, and fill it in steps',
    spares: 'new tables',
  },
  {
    pattern: /^(?:REINDEX|CLUSTER|VACUUM FULL)\b/i,
    fault: 'blocks the table while it is rewritten',
  },
  {
    pattern: /^ALTER \w+ .*\bRENAME\b/i,
    fault: 'renames what the previous release uses: add the new name, and drop the old one in a later release',
  },
];

const REFERS = /\bREFERENCES ([\w.]+)/gi;

const CREATED = /^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([\w.]+)/i;

/** Returns what is wrong with a new migration: each statement with the rule that it breaks. */
export function migrationFaults(text: string): string[] {
  const statements = statementsOf(text);
  const created = statements.flatMap((statement) => CREATED.exec(statement)?.[1] ?? []);
  const broken = statements.flatMap((statement) =>
    RULES.filter(({ pattern, spares }) => {
      const match = pattern.exec(statement);
      return match && !(spares && created.includes(match[1] ?? ''));
    }).map(({ fault }) => `${statement}: ${fault}`),
  );
  const referring = statements.filter(
    (statement) =>
      CREATED.test(statement) && [...statement.matchAll(REFERS)].some(([, to = '']) => !created.includes(to)),
  );
  const fault = 'refers to a table that Citus distributed before: delete the rows in one transaction instead';
  return [...broken, ...referring.map((statement) => `${statement}: ${fault}`), ...faultsOfConcurrent(text)];
}

function faultsOfConcurrent(text: string): string[] {
  try {
    concurrentStatement(text);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
