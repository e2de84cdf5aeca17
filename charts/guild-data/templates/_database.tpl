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
