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

{{/* The processes with their listeners and the services that they call; deploy/chart-files.ts writes the file. */}}
{{- define "guild-data.facts" -}}
{{- .Files.Get "files/services.json" -}}
{{- end -}}

{{/* Takes (dict "root" $ "name" NAME): the values of one service, merged over the defaults. */}}
{{- define "guild-data.settings" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.services .name)) | toYaml -}}
{{- end -}}

{{/* Takes (dict "root" $ "component" NAME). */}}
{{- define "guild-data.selector" -}}
app.kubernetes.io/name: {{ include "guild-data.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "guild-data.labels" -}}
{{ include "guild-data.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: guild-data
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of a pod, without versions, so that a new chart version alone restarts nothing. */}}
{{- define "guild-data.podLabels" -}}
{{ include "guild-data.selector" . }}
app.kubernetes.io/part-of: guild-data
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Takes (dict "root" $ "image" IMAGE); without a tag: the application's version. */}}
{{- define "guild-data.imageOf" -}}
{{- $name := empty .image.registry | ternary .image.repository (printf "%s/%s" .image.registry .image.repository) -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "guild-data.image" -}}
{{- include "guild-data.imageOf" (dict "root" . "image" .Values.image) -}}
{{- end -}}

{{- define "guild-data.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "guild-data.fullname" .) "default") -}}
{{- end -}}

{{/* Fields of every pod's spec. */}}
{{- define "guild-data.pod" -}}
serviceAccountName: {{ include "guild-data.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
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
{{- .Values.evaluation.enabled | ternary (include "guild-data.evaluationSecret" .) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "guild-data.tlsSecret" -}}
{{- .Values.tls.existingSecret | default (printf "%s-internal-tls" (include "guild-data.fullname" .)) -}}
{{- end -}}

{{/* True if the simulated platforms run: in evaluation mode, unless a real chat platform is configured. */}}
{{- define "guild-data.simulated" -}}
{{- if and .Values.evaluation.enabled (not .Values.platforms.chatApiUrl) }}true{{ end -}}
{{- end -}}
