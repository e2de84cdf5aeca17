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
