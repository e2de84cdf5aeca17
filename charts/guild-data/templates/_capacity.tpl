{{/* max_connections of the PostgreSQL of evaluation mode. */}}
{{- define "guild-data.evaluationConnections" -}}220{{- end -}}

{{/* Those of max_connections that PostgreSQL reserves for superusers (superuser_reserved_connections). */}}
{{- define "guild-data.reservedConnections" -}}3{{- end -}}

{{/* How the pods of a service are replaced; takes its settings. Unless values say otherwise none is stopped before a new one serves;
     Kubernetes would stop a quarter. */}}
{{- define "guild-data.strategy" -}}
{{- $strategy := .strategy | default (dict "rollingUpdate" (dict "maxSurge" 1)) | deepCopy -}}
{{- if ne ($strategy.type | default "") "Recreate" -}}
{{- $rolling := $strategy.rollingUpdate | default dict -}}
{{- if not (hasKey $rolling "maxUnavailable") }}{{ $_ := set $rolling "maxUnavailable" 0 }}{{ end -}}
{{- $_ := set $strategy "rollingUpdate" $rolling -}}
{{- end -}}
{{- $strategy | toYaml -}}
{{- end -}}

{{/* The least pods of a service; takes its settings. */}}
{{- define "guild-data.podsAtLeast" -}}
{{- int (or .autoscaling.enabled .autoscaling.external | ternary .autoscaling.minReplicas .replicas) -}}
{{- end -}}

{{/* The most pods of a service that serve or start at the same time; takes its settings. */}}
{{- define "guild-data.podsAtMost" -}}
{{- $replicas := int (or .autoscaling.enabled .autoscaling.external | ternary .autoscaling.maxReplicas .replicas) -}}
{{- $strategy := include "guild-data.strategy" . | fromYaml -}}
{{- $rolling := $strategy.rollingUpdate | default dict -}}
{{- $surge := hasKey $rolling "maxSurge" | ternary $rolling.maxSurge "25%" -}}
{{- if eq ($strategy.type | default "") "Recreate" -}}
{{- $surge = 0 -}}
{{- else if kindIs "string" $surge -}}
{{- $surge = div (add (mul $replicas (trimSuffix "%" $surge | int)) 99) 100 -}}
{{- end -}}
{{- add $replicas (int $surge) -}}
{{- end -}}

{{/* Whether PostgreSQL, or the pooler in front of it, accepts the connections of all pods: database.host gets those of the pools and
     one probe of each pod, and, without a pooler, those with which pods listen and the two of the migration. */}}
{{- define "guild-data.connectionFaults" -}}
{{- $root := . -}}
{{- $database := .Values.database -}}
{{- $faults := list -}}
{{- $limit := int $database.maxConnections -}}
{{- $source := "database.maxConnections" -}}
{{- $pooler := ", or use a pooler" -}}
{{- if .Values.evaluation.enabled -}}
{{- $limit = sub (include "guild-data.evaluationConnections" .) (include "guild-data.reservedConnections" .) | int -}}
{{- $source = "PostgreSQL in evaluation mode" -}}
{{- $pooler = "" -}}
{{- end -}}
{{- $sum := empty $database.direct.host | ternary 2 0 -}}
{{- $parts := list -}}
{{- $facts := include "guild-data.facts" . | fromJson -}}
{{- range $name, $service := $facts.services -}}
{{- if has "database" $service.holds -}}
{{- $settings := include "guild-data.settings" (dict "root" $root "name" $name) | fromYaml -}}
{{- $each := add 1 (int ($settings.config.PG_POOL_MAX | default $facts.poolMax)) -}}
{{- if and $service.notified (not $database.direct.host) }}{{ $each = add $each 1 }}{{ end -}}
{{- $pods := include "guild-data.podsAtMost" $settings | int -}}
{{- $sum = add $sum (mul $pods $each) -}}
{{- $parts = append $parts (printf "%s %d × %d" $name $pods $each) -}}
{{- end -}}
{{- end -}}
{{- if and $limit (gt (int $sum) $limit) -}}
{{- $advice := printf "lower autoscaling.maxReplicas, replicas or config.PG_POOL_MAX%s" $pooler -}}
{{- $faults = append $faults (printf "the pods may open %d connections, more than the %d of %s (pods × connections: %s): %s" $sum $limit $source (join ", " $parts) $advice) -}}
{{- end -}}
{{- $faults | toJson -}}
{{- end -}}

{{/* The faults of the values of pods that the schema cannot express. */}}
{{- define "guild-data.podFaults" -}}
{{- $v := .Values -}}
{{- $faults := include "guild-data.connectionFaults" . | fromJsonArray -}}
{{- if ge (int $v.migrate.waitSeconds) (int $v.migrate.deadlineSeconds) -}}
{{- $faults = append $faults "migrate.deadlineSeconds must be more than migrate.waitSeconds, which is a part of it" -}}
{{- end -}}
{{- if ge (int $v.migrate.lockWaitSeconds) (int $v.migrate.deadlineSeconds) -}}
{{- $faults = append $faults "migrate.deadlineSeconds must be more than migrate.lockWaitSeconds, for which each migration may wait for locks" -}}
{{- end -}}
{{- if and $v.evaluation.enabled $v.database.maxConnections -}}
{{- $faults = append $faults "evaluation.enabled has its own database, whose connections are known: do not set database.maxConnections" -}}
{{- end -}}
{{- $faults = concat $faults (include "guild-data.allResourceFaults" . | fromJsonArray) -}}
{{- $processes := keys (include "guild-data.facts" . | fromJson).services -}}
{{- $none := list "0" "0%" -}}
{{- range $name, $_ := $v.services -}}
{{- with include "guild-data.settings" (dict "root" $ "name" $name) | fromYaml -}}
{{- if gt (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas) -}}
{{- $faults = append $faults (printf "autoscaling.minReplicas of %s is more than its maxReplicas" $name) -}}
{{- end -}}
{{- $sleep := dig "preStop" "sleep" "seconds" 0 (.lifecycle | default dict) | int -}}
{{- $grace := add (int .preStopSeconds) (int $v.stopSeconds) 5 -}}
{{- if gt $sleep (int $grace) -}}
{{- $faults = append $faults (printf "lifecycle of %s sleeps for %d seconds, longer than a pod has to stop (%d): set preStopSeconds to as much, which the pod then gets in addition" $name $sleep $grace) -}}
{{- end -}}
{{- if and .autoscaling.enabled .autoscaling.external -}}
{{- $faults = append $faults (printf "autoscaling of %s is either enabled, by the chart, or external" $name) -}}
{{- end -}}
{{- with include "guild-data.strategy" . | fromYaml -}}
{{- $rolling := .rollingUpdate | default dict -}}
{{- if and $rolling (eq (.type | default "") "Recreate") -}}
{{- $faults = append $faults (printf "strategy.rollingUpdate of %s must be empty with the type Recreate" $name) -}}
{{- else if and (has (toString $rolling.maxSurge) $none) (has (toString $rolling.maxUnavailable) $none) -}}
{{- $faults = append $faults (printf "strategy.rollingUpdate of %s lets no pod be replaced: maxSurge or maxUnavailable must be more than 0" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $v.guildctl.enabled }}{{ $processes = append $processes "guildctl" }}{{ end -}}
{{- if and (eq $v.tls.mode "secret") (not $v.tls.existingSecret) -}}
{{- range sortAlpha $processes -}}
{{- if not (index $v.tls.secrets .) -}}
{{- $faults = append $faults (printf "tls.secrets.%s must name a Secret with tls.crt, tls.key and ca.crt, or tls.existingSecret one for all" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq $v.tls.mode "certManager" -}}
{{- if not $v.tls.issuerRef.name -}}
{{- $faults = append $faults "tls.issuerRef.name must name an issuer of cert-manager" -}}
{{- end -}}
{{- if lt (include "guild-data.seconds" $v.tls.duration | float64) 3600.0 -}}
{{- $faults = append $faults "tls.duration must be at least 1h, the shortest that cert-manager accepts" -}}
{{- end -}}
{{- if or $v.tls.existingSecret $v.tls.secrets -}}
{{- $faults = append $faults "tls.existingSecret and tls.secrets are for tls.mode secret: cert-manager writes the Secrets itself" -}}
{{- end -}}
{{- else if $v.tls.issuerRef.name -}}
{{- $faults = append $faults "tls.issuerRef.name is for tls.mode certManager" -}}
{{- end -}}
{{- if and (eq $v.tls.mode "none") (or $v.tls.existingSecret $v.tls.secrets) -}}
{{- $faults = append $faults "tls.existingSecret and tls.secrets are for tls.mode secret: with tls.mode none the services use no TLS" -}}
{{- end -}}
{{- $faults | toJson -}}
{{- end -}}
