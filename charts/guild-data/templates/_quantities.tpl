{{/* Checks of quantities and durations, which the schema cannot compare. */}}

{{/* A quantity such as 500m, 1.5 or 256Mi as a number. */}}
{{- define "guild-data.quantity" -}}
{{- $text := toString . -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- $unit := regexFind "(m|[kMGTPE]|[KMGTPE]i)$" $text -}}
{{- mulf (trimSuffix $unit $text | float64) (get $units $unit | default 1.0) -}}
{{- end -}}

{{/* The faults of resources; takes (dict "name" NAME "resources" RESOURCES). */}}
{{- define "guild-data.resourceFaults" -}}
{{- $faults := list -}}
{{- $limits := .resources.limits | default dict -}}
{{- range $what, $requested := .resources.requests -}}
{{- $limit := get $limits $what -}}
{{- if not (or (kindIs "invalid" $requested) (kindIs "invalid" $limit) (eq (toString $limit) "")) -}}
{{- if gt (include "guild-data.quantity" $requested | float64) (include "guild-data.quantity" $limit | float64) -}}
{{- $faults = append $faults (printf "resources of %s: the request of %s, %v, is more than its limit, %v" $.name $what $requested $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $faults | toJson -}}
{{- end -}}

{{/* The faults of the resources of every pod. */}}
{{- define "guild-data.allResourceFaults" -}}
{{- $faults := list -}}
{{- $v := .Values -}}
{{- $all := dict "migrate" $v.migrate "guildctl" $v.guildctl -}}
{{- if $v.evaluation.enabled -}}
{{- $_ := merge $all (dict "postgresql" $v.evaluation.postgresql "redis" $v.evaluation.redis "simulators" $v.evaluation.simulators) -}}
{{- end -}}
{{- range $name, $_ := $v.services -}}
{{- $_ := set $all $name (include "guild-data.settings" (dict "root" $ "name" $name) | fromYaml) -}}
{{- end -}}
{{- range $name, $values := $all -}}
{{- $faults = concat $faults (include "guild-data.resourceFaults" (dict "name" $name "resources" $values.resources) | fromJsonArray) -}}
{{- end -}}
{{- $faults | toJson -}}
{{- end -}}

{{/* A duration such as 1h30m in seconds. */}}
{{- define "guild-data.seconds" -}}
{{- $units := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" . -1 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get $units $unit)) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}
