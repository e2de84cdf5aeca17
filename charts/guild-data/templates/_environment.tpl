{{/* Takes (dict "name" VARIABLE "secret" NAME "key" KEY "optional" BOOL). */}}
{{- define "guild-data.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret | quote }}
      key: {{ .key | quote }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end -}}

{{/* A CA of the user; takes (dict "name" FOLDER "values" VALUES), of which the values have caSecret and caConfigMap. As JSON:
     the folder in which it is mounted, the path of the file, the Secret or ConfigMap and its key; {} if there is none. */}}
{{- define "guild-data.ca" -}}
{{- $ca := dict -}}
{{- with .values.caSecret -}}
{{- if .name }}{{ $ca = dict "name" $.name "secret" .name "key" .key "file" (printf "/etc/guild-data/%s/%s" $.name .key) }}{{ end -}}
{{- end -}}
{{- with .values.caConfigMap -}}
{{- if .name }}{{ $ca = dict "name" $.name "configMap" .name "key" .key "file" (printf "/etc/guild-data/%s/%s" $.name .key) }}{{ end -}}
{{- end -}}
{{- $ca | toJson -}}
{{- end -}}

{{/* The variable with the path of a CA; takes (dict "variable" NAME "name" FOLDER "values" VALUES). */}}
{{- define "guild-data.caVariable" -}}
{{- with (include "guild-data.ca" . | fromJson).file }}
- name: {{ $.variable }}
  value: {{ . }}
{{- end }}
{{- end -}}

{{/* The credentials of a role of the database, as JSON; takes (dict "root" $ "role" ROLE), of which the role is "owner" or a
     service: the Secret, its key with the password, its key with the user if it has one, and the user as the URL has it. */}}
{{- define "guild-data.credentials" -}}
{{- $database := .root.Values.database -}}
{{- $own := index $database.credentials .role | default dict -}}
{{- $user := eq .role "owner" | ternary $database.owner (print $database.roles.prefix .role) -}}
{{- if $own.usernameKey }}{{ $user = "$(DATABASE_USER)" }}{{ end -}}
{{- $secret := $own.name | default (include "guild-data.databaseSecret" .root) -}}
{{- dict "secret" $secret "passwordKey" ($own.passwordKey | default (print .role "-password")) "usernameKey" $own.usernameKey "user" $user | toJson -}}
{{- end -}}

{{/* database.hosts as host:port, as JSON; takes the values of the database. */}}
{{- define "guild-data.databaseHosts" -}}
{{- $hosts := list -}}
{{- range .hosts -}}
{{- $hosts = append $hosts (regexMatch ":[0-9]+$" . | ternary . (printf "%s:%d" . (int $.port))) -}}
{{- end -}}
{{- $hosts | toJson -}}
{{- end -}}

{{/* The connection to PostgreSQL for one role; takes (dict "root" $ "role" ROLE), of which the role is "owner" or a service. The
     password is a separate variable, so that it needs no escaping. Kubernetes replaces $(NAME) by variables before it. */}}
{{- define "guild-data.database" -}}
{{- $values := .root.Values -}}
{{- $database := $values.database -}}
{{- $address := $database.addressSecret -}}
{{- $credentials := include "guild-data.credentials" . | fromJson -}}
{{- $options := printf "?sslmode=%s" $database.tls.mode -}}
{{- with (include "guild-data.ca" (dict "name" "database-ca" "values" $database.tls) | fromJson).file -}}
{{- $options = printf "%s&sslrootcert=%s" $options . -}}
{{- end -}}
{{- $server := printf "%s:%d" $database.host (int $database.port) -}}
{{- $failover := "" -}}
{{- if $database.hosts -}}
{{- $server = join "," (include "guild-data.databaseHosts" $database | fromJsonArray) -}}
{{- $failover = "&target_session_attrs=read-write" -}}
{{- end -}}
{{- $name := $database.name -}}
{{- if $values.evaluation.enabled -}}
{{- $server = printf "%s-postgresql:5432" (include "guild-data.fullname" .root) -}}
{{- $options = "" -}}
{{- else if $address.name -}}
{{- $server = "$(DATABASE_HOST):$(DATABASE_PORT)" -}}
{{- $name = "$(DATABASE_NAME)" -}}
{{ include "guild-data.fromSecret" (dict "name" "DATABASE_HOST" "secret" $address.name "key" $address.hostKey) }}
{{ include "guild-data.fromSecret" (dict "name" "DATABASE_PORT" "secret" $address.name "key" $address.portKey) }}
{{ include "guild-data.fromSecret" (dict "name" "DATABASE_NAME" "secret" $address.name "key" $address.nameKey) }}
{{ end -}}
{{- with $credentials.usernameKey -}}
{{ include "guild-data.fromSecret" (dict "name" "DATABASE_USER" "secret" $credentials.secret "key" .) }}
{{ end -}}
{{ include "guild-data.fromSecret" (dict "name" "PGPASSWORD" "secret" $credentials.secret "key" $credentials.passwordKey) }}
- name: DATABASE_URL
  value: {{ printf "postgres://%s@%s/%s%s" $credentials.user $server $name (print $options $failover) | quote }}
{{- with $database.direct }}
{{- if .host }}
- name: DATABASE_DIRECT_URL
  value: {{ printf "postgres://%s@%s:%d/%s%s" $credentials.user .host (int .port) $name $options | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The variables with which the migration sets the rights, and the password, of the role of a service; takes
     (dict "root" $ "role" SERVICE). */}}
{{- define "guild-data.roleOfService" -}}
{{- $credentials := include "guild-data.credentials" . | fromJson -}}
{{- $prefix := upper .role -}}
{{- if $credentials.usernameKey -}}
{{ include "guild-data.fromSecret" (dict "name" (print $prefix "_DATABASE_USER") "secret" $credentials.secret "key" $credentials.usernameKey) }}
{{- else -}}
- name: {{ $prefix }}_DATABASE_USER
  value: {{ $credentials.user }}
{{- end }}
{{- if .root.Values.database.roles.create }}
{{ include "guild-data.fromSecret" (dict "name" (print $prefix "_DATABASE_PASSWORD") "secret" $credentials.secret "key" $credentials.passwordKey) }}
{{- end }}
{{- end -}}

{{/* The proxy and the CA for calls to the platforms; the simulated platforms need neither. */}}
{{- define "guild-data.platformAccess" -}}
{{- with .Values.platforms -}}
{{- if .proxySecret.name }}
{{ include "guild-data.fromSecret" (dict "name" "PLATFORMS_PROXY" "secret" .proxySecret.name "key" .proxySecret.key) }}
{{- end }}
{{- include "guild-data.caVariable" (dict "variable" "PLATFORMS_CA_FILE" "name" "platforms-ca" "values" .) }}
{{- end -}}
{{- end -}}

{{/* The address of the chat platform's API; empty for the public one. */}}
{{- define "guild-data.chatApiUrl" -}}
{{- eq (include "guild-data.simulated" .) "true" | ternary (printf "http://%s-simulators:8082/api/v10" (include "guild-data.fullname" .)) .Values.platforms.chatApiUrl -}}
{{- end -}}

{{/* Addresses and credentials of the chat and game platforms. */}}
{{- define "guild-data.platforms" -}}
{{- $simulators := printf "http://%s-simulators" (include "guild-data.fullname" .) -}}
{{- $simulated := eq (include "guild-data.simulated" .) "true" -}}
{{- $keys := .Values.secrets.keys -}}
{{ include "guild-data.fromSecret" (dict "name" "CHAT_BOT_TOKEN" "secret" (include "guild-data.secret" .) "key" $keys.chatBotToken) }}
{{ include "guild-data.fromSecret" (dict "name" "GAME_API_KEY" "secret" (include "guild-data.secret" .) "key" $keys.gameApiKey "optional" true) }}
{{- $callers := list -}}
{{- range $name, $service := (include "guild-data.facts" . | fromJson).services -}}
{{- if has "platforms" $service.holds }}{{ $callers = append $callers $name }}{{ end -}}
{{- end }}
- name: CHAT_PROCESSES
  value: {{ include "guild-data.replicas" (dict "root" . "names" $callers) | quote }}
{{- with .Values.platforms }}
{{- with $simulated | ternary (printf "%s:8082/api/v10" $simulators) .chatApiUrl }}
- name: CHAT_API_URL
  value: {{ . | quote }}
{{- end }}
{{- with .chatBotUrl }}
- name: CHAT_BOT_URL
  value: {{ . | quote }}
{{- end }}
- name: CHAT_GLOBAL_RPS
  value: {{ int .chatGlobalRps | quote }}
- name: GAME_GLOBAL_RPS
  value: {{ int .gameGlobalRps | quote }}
- name: GAME_MEMBERSHIPS_PER_MINUTE
  value: {{ int .gameMembershipsPerMinute | quote }}
- name: GAME_INVENTORIES_PER_MINUTE
  value: {{ int .gameInventoriesPerMinute | quote }}
{{- $game := dict "USERS" .gameUsersUrl "GROUPS" .gameGroupsUrl "INVENTORY" .gameInventoryUrl "BADGES" .gameBadgesUrl "ECONOMY" .gameEconomyUrl "APIS" .gameApisUrl }}
{{- range $host, $url := $game }}
{{- with $simulated | ternary (printf "%s:8083" $simulators) $url }}
- name: GAME_{{ $host }}_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The address and the key of the game platform's API with keys. */}}
{{- define "guild-data.openCloud" -}}
{{ include "guild-data.fromSecret" (dict "name" "GAME_API_KEY" "secret" (include "guild-data.secret" .) "key" .Values.secrets.keys.gameApiKey "optional" true) }}
{{- $callers := list -}}
{{- range $name, $service := (include "guild-data.facts" . | fromJson).services -}}
{{- if has "game" $service.holds }}{{ $callers = append $callers $name }}{{ end -}}
{{- end }}
- name: CHAT_PROCESSES
  value: {{ include "guild-data.replicas" (dict "root" . "names" $callers) | quote }}
{{- $simulator := printf "http://%s-simulators:8083" (include "guild-data.fullname" .) -}}
{{- with eq (include "guild-data.simulated" .) "true" | ternary $simulator .Values.platforms.gameApisUrl }}
- name: GAME_APIS_URL
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* TLS between the services: each presents the certificate and trusts those of the CA. */}}
{{- define "guild-data.tlsVariables" -}}
{{- if ne .Values.tls.mode "none" -}}
- name: INTERNAL_TLS_CERT_FILE
  value: /etc/guild-data/tls/tls.crt
- name: INTERNAL_TLS_KEY_FILE
  value: /etc/guild-data/tls/tls.key
- name: INTERNAL_TLS_CA_FILE
  value: /etc/guild-data/tls/ca.crt
{{- end -}}
{{- end -}}

{{/* The minimum number of pods of these services, by which limits are divided while Redis is unavailable; takes
     (dict "root" $ "names" LIST). */}}
{{- define "guild-data.replicas" -}}
{{- $root := .root -}}
{{- $sum := 0 -}}
{{- range .names -}}
{{- $settings := include "guild-data.settings" (dict "root" $root "name" .) | fromYaml -}}
{{- $sum = add $sum (include "guild-data.podsAtLeast" $settings | int) -}}
{{- end -}}
{{- max 1 $sum -}}
{{- end -}}

{{/* The address of the admin port, which the kubelet and Prometheus must reach; takes
     (dict "ports" PORTS "settings" SETTINGS). */}}
{{- define "guild-data.adminListener" -}}
- name: ADMIN_HOST
  value: {{ index .settings.config "LISTEN_HOST" | default "0.0.0.0" | quote }}
- name: ADMIN_PORT
  value: {{ int .ports.admin | quote }}
{{- end -}}

{{/* The variables of one service; takes (dict "root" $ "name" NAME "facts" FACTS "ports" PORTS "settings" SETTINGS). */}}
{{- define "guild-data.environment" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $full := include "guild-data.fullname" $root -}}
{{- $ports := .ports -}}
{{- $variables := dict "public" (eq .name "console" | ternary "CONSOLE_PORT" "GATEWAY_PORT") "http" "HTTP_PORT" "grpc" "GRPC_PORT" -}}
- name: LOG_LEVEL
  value: {{ $values.logLevel }}
- name: STOP_SECONDS
  value: {{ int $values.stopSeconds | quote }}
- name: DRAIN_DELAY_SECONDS
  value: {{ int $values.drainDelaySeconds | quote }}
{{ include "guild-data.adminListener" (dict "ports" $ports "settings" .settings) }}
{{- range .facts.listens }}
- name: {{ index $variables . }}
  value: {{ int (index $ports .) | quote }}
{{- end }}
{{- if and (has "grpc" .facts.listens) (not (hasKey .settings.config "GRPC_REFLECTION")) }}
- name: GRPC_REFLECTION
  value: "false"
{{- end }}
{{ include "guild-data.fromSecret" (dict "name" "INTERNAL_KEYS" "secret" (include "guild-data.keysSecret" (dict "root" $root "name" .name)) "key" $values.secrets.keys.internalKeys) }}
{{- range .facts.calls }}
- name: {{ upper . }}_GRPC_ADDRESS
  value: dns:///{{ $full }}-{{ . }}-pods:{{ int $ports.grpc }}
{{- end }}
{{- range .facts.forwards }}
- name: {{ upper . }}_HTTP_URL
  value: {{ eq $values.tls.mode "none" | ternary "http" "https" }}://{{ $full }}-{{ . }}:{{ int $ports.http }}
{{- end }}
{{- if has "database" .facts.holds }}
{{ include "guild-data.database" (dict "root" $root "role" .name) }}
{{- end }}
{{- if and (has "redis" .facts.holds) $values.redis.enabled }}
{{ include "guild-data.fromSecret" (dict "name" "REDIS_URL" "secret" (include "guild-data.redisSecret" $root) "key" $values.secrets.keys.redisUrl) }}
{{- include "guild-data.caVariable" (dict "variable" "REDIS_TLS_CA_FILE" "name" "redis-ca" "values" $values.redis.tls) }}
{{- end }}
{{- if has "platforms" .facts.holds }}
{{ include "guild-data.platforms" $root }}
{{- end }}
{{- if has "game" .facts.holds }}
{{ include "guild-data.openCloud" $root }}
{{- end }}
{{- if has "webhooks" .facts.holds }}
{{- with $values.webhooks }}
- name: WEBHOOKS_ALLOW_HTTP
  value: {{ .allowHttp | quote }}
{{- with .allowedNetworks }}
- name: WEBHOOKS_ALLOWED_NETWORKS
  value: {{ join "," . | quote }}
{{- end }}
{{- if .proxySecret.name }}
{{ include "guild-data.fromSecret" (dict "name" "WEBHOOKS_PROXY" "secret" .proxySecret.name "key" .proxySecret.key) }}
{{- end }}
{{- include "guild-data.caVariable" (dict "variable" "WEBHOOKS_CA_FILE" "name" "webhooks-ca" "values" .) }}
{{- end }}
{{- end }}
{{- if or (has "platforms" .facts.holds) (has "game" .facts.holds) (has "sign-in" .facts.holds) (has "responses" .facts.holds) }}
{{- include "guild-data.platformAccess" $root }}
{{- end }}
{{- if has "interactions" .facts.holds }}
- name: CHAT_APPLICATION_PUBLIC_KEY
  value: {{ $values.platforms.chatApplicationPublicKey | quote }}
{{- end }}
{{- if or (has "sign-in" .facts.holds) (has "responses" .facts.holds) }}
{{- with include "guild-data.chatApiUrl" $root }}
- name: CHAT_API_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if has "responses" .facts.holds }}
{{- with $values.platforms.chatBotUrl }}
- name: CHAT_BOT_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if has "console" .facts.holds }}
- name: CONSOLE_URL
  value: {{ include "guild-data.consoleUrl" $root | quote }}
{{- end }}
{{- if has "sign-in" .facts.holds }}
{{ include "guild-data.signIn" $root }}
{{- end }}
{{- if has "public" .facts.listens }}
{{- with $values.gateway.publicUrl }}
- name: PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- with (index $values .name).trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
- name: {{ eq .name "console" | ternary "CONSOLE_REPLICAS" "GATEWAY_REPLICAS" }}
  value: {{ include "guild-data.replicas" (dict "root" $root "names" (list .name)) | quote }}
{{- end }}
{{- include "guild-data.tracing" $root }}
{{ include "guild-data.tlsVariables" $root }}
{{- range $variable, $value := .settings.config }}
- name: {{ $variable }}
  value: {{ kindIs "float64" $value | ternary (int64 $value) $value | toString | quote }}
{{- end }}
{{- end -}}

{{/* Volumes for files that a container of a process reads; takes (dict "root" $ "name" NAME "holds" LIST "tls" BOOL). */}}
{{- define "guild-data.files" -}}
{{- $values := .root.Values -}}
{{- $files := list -}}
{{- if has "database" .holds -}}
{{- $files = append $files (include "guild-data.ca" (dict "name" "database-ca" "values" $values.database.tls) | fromJson) -}}
{{- end -}}
{{- if and (has "redis" .holds) $values.redis.enabled -}}
{{- $files = append $files (include "guild-data.ca" (dict "name" "redis-ca" "values" $values.redis.tls) | fromJson) -}}
{{- end -}}
{{- if has "webhooks" .holds -}}
{{- $files = append $files (include "guild-data.ca" (dict "name" "webhooks-ca" "values" $values.webhooks) | fromJson) -}}
{{- end -}}
{{- if has "sign-in" .holds -}}
{{- $files = append $files (include "guild-data.ca" (dict "name" "oidc-ca" "values" $values.console.oidc) | fromJson) -}}
{{- end -}}
{{- if or (has "platforms" .holds) (has "game" .holds) (has "sign-in" .holds) (has "responses" .holds) -}}
{{- $files = append $files (include "guild-data.ca" (dict "name" "platforms-ca" "values" $values.platforms) | fromJson) -}}
{{- end -}}
{{- if and .tls $values.tracing.endpoint -}}
{{- $files = append $files (include "guild-data.ca" (dict "name" "tracing-ca" "values" $values.tracing) | fromJson) -}}
{{- end -}}
{{- if and .tls (ne $values.tls.mode "none") -}}
{{- $files = append $files (dict "name" "tls" "secret" (include "guild-data.tlsSecret" .)) -}}
{{- end -}}
{{- dict "files" (without $files dict) | toYaml -}}
{{- end -}}

{{/* Of the object with a CA only its key is mounted, because the Secret may also have the CA's private key. */}}
{{- define "guild-data.volumes" -}}
{{- with (include "guild-data.files" . | fromYaml).files }}
volumes:
  {{- range . }}
  - name: {{ .name }}
    {{- if .configMap }}
    configMap:
      name: {{ .configMap | quote }}
    {{- else }}
    secret:
      secretName: {{ .secret | quote }}
      defaultMode: 0440
    {{- end }}
    {{- with .key }}
      items: [{key: {{ . | quote }}, path: {{ . | quote }}}]
    {{- end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "guild-data.volumeMounts" -}}
{{- with (include "guild-data.files" . | fromYaml).files }}
volumeMounts:
  {{- range . }}
  - {name: {{ .name }}, mountPath: /etc/guild-data/{{ .name }}, readOnly: true}
  {{- end }}
{{- end }}
{{- end -}}
