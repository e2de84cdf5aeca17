{{/* Takes (dict "name" VARIABLE "secret" NAME "key" KEY "optional" BOOL). */}}
{{- define "guild-data.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end -}}

{{/* The connection to PostgreSQL for one role; takes (dict "root" $ "user" ROLE "passwordKey" KEY). The password is a
     separate variable, so that it needs no escaping. */}}
{{- define "guild-data.database" -}}
{{- $values := .root.Values -}}
{{- $database := $values.database -}}
{{- $options := printf "?sslmode=%s" $database.tls.mode -}}
{{- if $database.tls.caSecret.name -}}
{{- $options = printf "%s&sslrootcert=/etc/guild-data/database-ca/%s" $options $database.tls.caSecret.key -}}
{{- end -}}
{{- $host := $database.host -}}
{{- if $values.evaluation.enabled -}}
{{- $host = printf "%s-postgresql" (include "guild-data.fullname" .root) -}}
{{- $options = "" -}}
{{- end -}}
{{ include "guild-data.fromSecret" (dict "name" "PGPASSWORD" "secret" (include "guild-data.databaseSecret" .root) "key" .passwordKey) }}
- name: DATABASE_URL
  value: {{ printf "postgres://%s@%s:%d/%s%s" .user $host (int $database.port) $database.name $options | quote }}
{{- if $database.direct.host }}
- name: DATABASE_DIRECT_URL
  value: {{ printf "postgres://%s@%s:%d/%s%s" .user $database.direct.host (int $database.direct.port) $database.name $options | quote }}
{{- end }}
{{- end -}}

{{/* Addresses and credentials of the chat and game platforms. */}}
{{- define "guild-data.platforms" -}}
{{- $simulators := printf "http://%s-simulators" (include "guild-data.fullname" .) -}}
{{- $simulated := eq (include "guild-data.simulated" .) "true" -}}
{{ include "guild-data.fromSecret" (dict "name" "CHAT_BOT_TOKEN" "secret" (include "guild-data.secret" .) "key" "chat-bot-token") }}
{{ include "guild-data.fromSecret" (dict "name" "GAME_API_KEY" "secret" (include "guild-data.secret" .) "key" "game-api-key" "optional" true) }}
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
{{- $sum = add $sum ($settings.autoscaling.enabled | ternary $settings.autoscaling.minReplicas $settings.replicas) -}}
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
{{- $variables := dict "public" "GATEWAY_PORT" "http" "HTTP_PORT" "grpc" "GRPC_PORT" -}}
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
{{ include "guild-data.fromSecret" (dict "name" "INTERNAL_KEYS" "secret" (include "guild-data.keysSecret" (dict "root" $root "name" .name)) "key" "internal-keys") }}
{{- range .facts.calls }}
- name: {{ upper . }}_GRPC_ADDRESS
  value: dns:///{{ $full }}-{{ . }}-pods:{{ int $ports.grpc }}
{{- end }}
{{- range .facts.proxies }}
- name: {{ upper . }}_HTTP_URL
  value: {{ eq $values.tls.mode "none" | ternary "http" "https" }}://{{ $full }}-{{ . }}:{{ int $ports.http }}
{{- end }}
{{- if has "database" .facts.holds }}
{{ include "guild-data.database" (dict "root" $root "user" (print $values.database.roles.prefix .name) "passwordKey" (print .name "-password")) }}
{{- end }}
{{- if and (has "redis" .facts.holds) $values.redis.enabled }}
{{ include "guild-data.fromSecret" (dict "name" "REDIS_URL" "secret" (include "guild-data.redisSecret" $root) "key" "redis-url") }}
{{- if $values.redis.tls.caSecret.name }}
- name: REDIS_TLS_CA_FILE
  value: /etc/guild-data/redis-ca/{{ $values.redis.tls.caSecret.key }}
{{- end }}
{{- end }}
{{- if has "platforms" .facts.holds }}
{{ include "guild-data.platforms" $root }}
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
{{- if .caSecret.name }}
- name: WEBHOOKS_CA_FILE
  value: /etc/guild-data/webhooks-ca/{{ .caSecret.key }}
{{- end }}
{{- end }}
{{- end }}
{{- if has "public" .facts.listens }}
{{- with $values.gateway.publicUrl }}
- name: PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- with $values.gateway.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
- name: GATEWAY_REPLICAS
  value: {{ include "guild-data.replicas" (dict "root" $root "names" (list .name)) | quote }}
{{- end }}
{{ include "guild-data.tlsVariables" $root }}
{{- range $variable, $value := .settings.config }}
- name: {{ $variable }}
  value: {{ kindIs "float64" $value | ternary (int64 $value) $value | toString | quote }}
{{- end }}
{{- end -}}

{{/* Volumes for files that a container reads; takes (dict "root" $ "holds" LIST "tls" BOOL). */}}
{{- define "guild-data.files" -}}
{{- $values := .root.Values -}}
{{- $files := list -}}
{{- if and (has "database" .holds) $values.database.tls.caSecret.name -}}
{{- $files = append $files (dict "name" "database-ca" "secret" $values.database.tls.caSecret.name) -}}
{{- end -}}
{{- if and (has "redis" .holds) $values.redis.enabled $values.redis.tls.caSecret.name -}}
{{- $files = append $files (dict "name" "redis-ca" "secret" $values.redis.tls.caSecret.name) -}}
{{- end -}}
{{- if and (has "webhooks" .holds) $values.webhooks.caSecret.name -}}
{{- $files = append $files (dict "name" "webhooks-ca" "secret" $values.webhooks.caSecret.name) -}}
{{- end -}}
{{- if and .tls (ne $values.tls.mode "none") -}}
{{- $files = append $files (dict "name" "tls" "secret" (include "guild-data.tlsSecret" .root)) -}}
{{- end -}}
{{- dict "files" $files | toYaml -}}
{{- end -}}

{{- define "guild-data.volumes" -}}
{{- with (include "guild-data.files" . | fromYaml).files }}
volumes:
  {{- range . }}
  - name: {{ .name }}
    secret: {secretName: {{ .secret }}, defaultMode: 0440}
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
