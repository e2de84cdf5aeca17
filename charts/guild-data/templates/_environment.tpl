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

{{/* A value as the text of a variable: a number without an exponent, which the processes do not read. */}}
{{- define "guild-data.variableText" -}}
{{- if not (kindIs "float64" .) -}}
{{- . | toString -}}
{{- else if eq (floor .) . -}}
{{- int64 . -}}
{{- else -}}
{{- regexReplaceAll "[.]?0+$" (printf "%.9f" .) "" -}}
{{- end -}}
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
  value: {{ include "guild-data.variableText" $value | quote }}
{{- end }}
{{- end -}}
