{{- define "guild-data.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of every name, short enough for the suffixes. */}}
{{- define "guild-data.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "guild-data.name" . -}}
{{- (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The processes with their listeners and the services that they call; deploy/chart-files.ts writes the file. Without
     console.enabled the console is none of them, and no process has anything of it. */}}
{{- define "guild-data.facts" -}}
{{- $facts := .Files.Get "files/services.json" | fromJson -}}
{{- if not .Values.console.enabled -}}
{{- $_ := unset $facts.services "console" -}}
{{- $_ := unset $facts.keys "console" -}}
{{- range $service := $facts.services -}}
{{- $_ := set $service "holds" (without $service.holds "console" "sign-in") -}}
{{- end -}}
{{- end -}}
{{- if not .Values.platforms.chatApplicationPublicKey -}}
{{- range $service := $facts.services -}}
{{- $_ := set $service "holds" (without $service.holds "interactions" "responses") -}}
{{- end -}}
{{- end -}}
{{- $facts | toJson -}}
{{- end -}}

{{/* Takes (dict "root" $ "component" NAME). */}}
{{- define "guild-data.selector" -}}
app.kubernetes.io/name: {{ include "guild-data.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* A version as the value of a label, which may not contain "+" (build metadata) and has at most 63 characters. */}}
{{- define "guild-data.labelText" -}}
{{- . | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- end -}}

{{/* The labels of an object; takes (dict "root" $ "component" NAME "labels" LABELS), of which the labels are those that values add
     besides commonLabels. */}}
{{- define "guild-data.labels" -}}
{{- $chart := include "guild-data.labelText" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- $version := include "guild-data.labelText" .root.Chart.AppVersion -}}
{{- $release := dict "app.kubernetes.io/version" $version "app.kubernetes.io/part-of" "guild-data" "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" $chart -}}
{{- mergeOverwrite (include "guild-data.selector" . | fromYaml) $release (.root.Values.commonLabels | default dict) (.labels | default dict) | toYaml -}}
{{- end -}}

{{/* Takes (dict "root" $ "image" IMAGE); without a tag: the application's version. global.imageRegistry takes precedence over the
     image's own registry. */}}
{{- define "guild-data.imageOf" -}}
{{- $registry := (.root.Values.global).imageRegistry | default .image.registry -}}
{{- $name := empty $registry | ternary .image.repository (printf "%s/%s" $registry .image.repository) -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (.image.tag | default (replace "+" "_" .root.Chart.AppVersion)) -}}
{{- end -}}
{{- end -}}

{{- define "guild-data.image" -}}
{{- include "guild-data.imageOf" (dict "root" . "image" .Values.image) -}}
{{- end -}}

{{- define "guild-data.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "guild-data.fullname" .) "default") -}}
{{- end -}}

{{/* The security context of a pod; takes the user ID; null lets the cluster decide. */}}
{{- define "guild-data.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- if not (kindIs "invalid" .) }}
  runAsUser: {{ int64 . }}
  runAsGroup: {{ int64 . }}
  fsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "guild-data.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Names of the Secrets with the application's secrets, the database's passwords, and the URL of Redis. */}}
{{- define "guild-data.evaluationSecret" -}}
{{- include "guild-data.fullname" . }}-evaluation
{{- end -}}

{{- define "guild-data.secret" -}}
{{- .Values.secrets.existingSecret | default (include "guild-data.evaluationSecret" .) -}}
{{- end -}}

{{/* The Secret with the keys of one process; takes (dict "root" $ "name" NAME). */}}
{{- define "guild-data.keysSecret" -}}
{{- $prefix := .root.Values.evaluation.enabled | ternary (printf "%s-keys" (include "guild-data.fullname" .root)) .root.Values.secrets.keysPrefix -}}
{{- printf "%s-%s" $prefix .name -}}
{{- end -}}

{{- define "guild-data.databaseSecret" -}}
{{- if .Values.evaluation.enabled -}}
{{- include "guild-data.evaluationSecret" . -}}
{{- else -}}
{{- .Values.database.existingSecret | default .Values.secrets.existingSecret -}}
{{- end -}}
{{- end -}}

{{- define "guild-data.redisSecret" -}}
{{- .Values.evaluation.enabled | ternary (include "guild-data.evaluationSecret" .) (.Values.redis.existingSecret | default .Values.secrets.existingSecret) -}}
{{- end -}}

{{/* The Secret with the certificate of one process, for TLS between the services; takes (dict "root" $ "name" NAME). */}}
{{- define "guild-data.tlsSecret" -}}
{{- $tls := .root.Values.tls -}}
{{- if eq $tls.mode "certManager" -}}
{{- printf "%s-%s-internal-tls" (include "guild-data.fullname" .root) .name -}}
{{- else -}}
{{- index $tls.secrets .name | default $tls.existingSecret -}}
{{- end -}}
{{- end -}}

{{/* True if the simulated platforms run: in evaluation mode, unless a real chat platform is configured. */}}
{{- define "guild-data.simulated" -}}
{{- if and .Values.evaluation.enabled (not .Values.platforms.chatApiUrl) }}true{{ end -}}
{{- end -}}
