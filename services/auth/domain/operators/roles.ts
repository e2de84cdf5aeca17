import type { DefinitionShape } from '#kit/grpc/definition.ts';
import { CommandAdminServiceService, StaffAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { ConsoleAdminServiceService } from '#proto/gen/guild/auth/v1/console.ts';
import { GuildDoctorServiceService } from '#proto/gen/guild/auth/v1/doctor.ts';
import { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { BindingAdminServiceService } from '#proto/gen/guild/bindings/v1/admin.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { QueueAdminServiceService } from '#proto/gen/guild/common/v1/queue.ts';
import { EventAdminServiceService, WebhookAdminServiceService } from '#proto/gen/guild/events/v1/admin.ts';
import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import { JobAdminServiceService } from '#proto/gen/guild/members/v1/admin.ts';
import { ChatAdminServiceService } from '#proto/gen/guild/members/v1/chat.ts';
import {
  BanMirrorAdminServiceService,
  RecordAdminServiceService,
  ShieldAdminServiceService,
} from '#proto/gen/guild/moderation/v1/admin.ts';

/** The roles of operators, in ascending order. Each role includes the roles before it. */
export const ROLES = ['viewer', 'support', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** The rule of a gRPC method: the role that it requires, and how its calls are audited. */
export interface MethodRule {
  role: Role;
  /**
   * When calls of the method are audited. `before`: an audit entry is committed before the call can be made. `itself`:
   * the method belongs to the auth service and writes the entry in the transaction of its change. `never`: the method
   * only reads.
   */
  audited: 'before' | 'itself' | 'never';
  /** Set if the audit entry contains no data of the request, because the call erases or exports the data of a user. */
  isAnonymous?: true;
}

const read = (role: Role): MethodRule => ({ role, audited: 'never' });
const change = (role: Role): MethodRule => ({ role, audited: 'before' });
const changeInAuth = (role: Role): MethodRule => ({ role, audited: 'itself' });

/** The services that implement a gRPC service definition, and the rule of each of its methods. */
interface Rules<Definition extends DefinitionShape> {
  services: readonly string[];
  definition: Definition;
  methods: Readonly<Record<keyof Definition, MethodRule>>;
}

const rulesOf = <Definition extends DefinitionShape>(rules: Rules<Definition>): Rules<DefinitionShape> => rules;

/** The rules of all gRPC methods that operators can call. A method without a rule does not compile. */
const RULES = [
  rulesOf({
    services: ['auth'],
    definition: KeyAdminServiceService,
    methods: {
      createKey: changeInAuth('admin'),
      listKeys: read('viewer'),
      updateKey: changeInAuth('admin'),
      rotateKey: changeInAuth('admin'),
      revokeKey: changeInAuth('support'),
      revokeGuildKeys: changeInAuth('admin'),
      revokeLeakedKeys: changeInAuth('support'),
      listAudit: read('viewer'),
      verifyAudit: read('viewer'),
      listAuditHeads: read('viewer'),
      recordErasure: changeInAuth('admin'),
      listGuilds: read('viewer'),
      suspendGuild: changeInAuth('admin'),
      resumeGuild: changeInAuth('admin'),
    },
  }),
  rulesOf({
    services: ['auth'],
    definition: OperatorAdminServiceService,
    methods: {
      // `authorize` checks the method that the operator wants to call, which has its own rule.
      authorize: read('viewer'),
      addOperator: changeInAuth('owner'),
      revokeOperator: changeInAuth('owner'),
      listOperators: read('admin'),
    },
  }),
  rulesOf({
    services: ['auth'],
    definition: ConsoleAdminServiceService,
    methods: { createLink: changeInAuth('admin') },
  }),
  rulesOf({
    services: ['auth'],
    definition: GuildDoctorServiceService,
    methods: { checkGuild: read('viewer') },
  }),
  rulesOf({
    services: ['activity', 'auth', 'bindings', 'events', 'lookup', 'members', 'moderation'],
    definition: ErasureServiceService,
    methods: {
      eraseGuild: change('admin'),
      eraseUser: { ...change('admin'), isAnonymous: true },
      listGuildsOfUser: read('admin'),
      exportUser: { ...change('admin'), isAnonymous: true },
    },
  }),
  rulesOf({
    services: ['lookup'],
    definition: LinkAdminServiceService,
    methods: { findAccounts: read('viewer'), showLink: read('viewer') },
  }),
  rulesOf({
    services: ['moderation'],
    definition: ShieldAdminServiceService,
    methods: { addEntry: change('support'), removeEntry: change('support'), listEntries: read('viewer') },
  }),
  rulesOf({
    services: ['moderation'],
    definition: BanMirrorAdminServiceService,
    methods: { reconcile: change('support'), listDrift: read('viewer') },
  }),
  rulesOf({
    services: ['moderation'],
    definition: RecordAdminServiceService,
    methods: { showPlayer: read('viewer') },
  }),
  rulesOf({
    services: ['bindings'],
    definition: BindingAdminServiceService,
    methods: { showBindings: read('viewer') },
  }),
  rulesOf({
    services: ['activity'],
    definition: CommandAdminServiceService,
    methods: {
      enqueueCommands: change('support'),
      cancelCommand: change('support'),
      listCommands: read('viewer'),
      readCommand: read('viewer'),
      listServers: read('viewer'),
      countServers: read('viewer'),
    },
  }),
  rulesOf({
    services: ['activity', 'auth', 'bindings', 'lookup', 'members', 'moderation'],
    definition: QueueAdminServiceService,
    methods: { listQueueItems: read('viewer'), retryQueueItems: change('support'), skipQueueItem: change('admin') },
  }),
  rulesOf({
    services: ['members'],
    definition: JobAdminServiceService,
    methods: { listJobs: read('viewer'), retryJob: change('support'), cancelJob: change('support') },
  }),
  rulesOf({
    services: ['members'],
    definition: ChatAdminServiceService,
    methods: { installCommands: change('admin') },
  }),
  rulesOf({
    services: ['activity'],
    definition: StaffAdminServiceService,
    methods: { setStaffRole: change('admin'), listStaffRoles: read('viewer'), removeStaffRole: change('admin') },
  }),
  rulesOf({
    services: ['events'],
    definition: WebhookAdminServiceService,
    methods: {
      listWebhooks: read('viewer'),
      showWebhook: read('viewer'),
      disableWebhook: change('support'),
      enableWebhook: change('support'),
      replayWebhook: change('support'),
      listDeliveries: read('support'),
    },
  }),
  rulesOf({
    services: ['events'],
    definition: EventAdminServiceService,
    methods: { readEvents: read('support') },
  }),
];

/** A gRPC method that operators can call, with its rule. */
export interface AdminMethod extends MethodRule {
  /** The name of the method without its service, such as `AddEntry`. */
  name: string;
  decode(request: Buffer): unknown;
}

const METHODS = new Map<string, AdminMethod>(
  RULES.flatMap(({ services, definition, methods }) =>
    Object.entries(definition).flatMap(([key, { path, requestDeserialize }]) => {
      const rule = methods[key] as MethodRule;
      const name = path.slice(path.lastIndexOf('/') + 1);
      return services.map((service): [string, AdminMethod] => [
        `${service} ${path}`,
        { ...rule, name, decode: (request) => requestDeserialize(request) },
      ]);
    }),
  ),
);

/** Returns the rule of a gRPC method of a service; undefined if operators cannot call the method. */
export function adminMethod(service: string, path: string): AdminMethod | undefined {
  return METHODS.get(`${service} ${path}`);
}

/** The paths of all gRPC methods that operators can call. A test checks that no method is missing. */
export const ADMIN_PATHS: ReadonlySet<string> = new Set([...METHODS.keys()].map((key) => key.split(' ')[1] as string));

/** True if an operator with `role` may call methods that require `required`. */
export function includesRole(role: Role, required: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(required);
}
