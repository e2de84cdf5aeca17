{{/* Traces by OpenTelemetry; nothing without an endpoint. */}}
{{- define "guild-data.tracing" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: TRACING_SAMPLE_RATIO
  value: {{ include "guild-data.variableText" .sampleRatio | quote }}
- name: TRACING_CALLER_SAMPLES_PER_SECOND
  value: {{ int .callerSamplesPerSecond | quote }}
- name: OTEL_BSP_SCHEDULE_DELAY
  value: {{ int .sendEveryMs | quote }}
{{- if .headersSecret.name }}
{{ include "guild-data.fromSecret" (dict "name" "OTEL_EXPORTER_OTLP_HEADERS" "secret" .headersSecret.name "key" .headersSecret.key) }}
{{- end }}
{{- include "guild-data.caVariable" (dict "variable" "OTEL_EXPORTER_OTLP_CERTIFICATE" "name" "tracing-ca" "values" .) }}
{{- $attributes := list (print "k8s.namespace.name=" $.Release.Namespace) (print "guild_data.release=" $.Release.Name) }}
{{- range $name, $value := .resourceAttributes }}
{{- $attributes = append $attributes (print $name "=" ($value | urlquery | replace "+" "%20")) }}
{{- end }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: {{ join "," $attributes | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* NetworkPolicy: the collector, which all services may reach, by default on the port of its endpoint. */}}
{{- define "guild-data.toCollector" -}}
{{- $policy := .Values.networkPolicy.tracing -}}
{{- if .Values.tracing.endpoint }}
{{- $endpoint := urlParse .Values.tracing.endpoint -}}
{{- $port := regexFind ":[0-9]+$" $endpoint.host | trimPrefix ":" | default (eq $endpoint.scheme "https" | ternary "443" "80") }}
{{ include "guild-data.toOutside" (dict "root" . "to" $policy.to "ports" ($policy.ports | default (list $port))) | trim }}
{{- end }}
{{- end -}}
