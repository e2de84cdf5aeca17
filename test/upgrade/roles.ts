import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { allMigrations } from '../../deploy/all-migrations.ts';
import { passwordVariable, userVariable } from '../../deploy/database-roles.ts';
import { databaseRows } from '../postgres/database.ts';

/** A role of the database for each service, which may only do what the service needs. */
export class ServiceRoles {
  readonly #suffix = randomBytes(4).toString('hex');
  readonly #password = randomBytes(16).toString('hex');
  readonly #services = allMigrations().map(({ service }) => service);

  /** The variables with which the migration program creates the roles. */
  get environment(): NodeJS.ProcessEnv {
    return Object.fromEntries(
      this.#services.flatMap((service) => [
        [userVariable(service), this.#nameOf(service)],
        [passwordVariable(service), this.#password],
      ]),
    );
  }

  /** The URL with which a process connects to the database `owned`, the URL of its owner. */
  urlOf(name: string, owned: string): string {
    if (!this.#services.includes(name)) return owned;
    const url = new URL(owned);
    url.username = this.#nameOf(name);
    url.password = this.#password;
    return url.href;
  }

  /** Removes the roles, once the database in which they have rights does not exist any more. */
  async drop(): Promise<void> {
    for (const service of this.#services) {
      await databaseRows(inject('postgresUrl'), `DROP ROLE IF EXISTS ${this.#nameOf(service)}`);
    }
  }

  #nameOf(service: string): string {
    return `${service}_${this.#suffix}`;
  }
}
