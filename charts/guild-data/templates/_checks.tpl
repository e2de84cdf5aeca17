{{/* Checks that the schema cannot express: combinations of values that do not work. */}}
{{- define "guild-data.checks" -}}
{{- $v := .Values -}}
{{- $faults := list -}}
{{- if $v.evaluation.enabled -}}
{{- if or $v.database.host $v.database.direct.host $v.database.existingSecret -}}
{{- $faults = append $faults "evaluation.enabled has its own database: leave database.host, database.direct.host and database.existingSecret empty" -}}
{{- end -}}
{{- if not $v.redis.enabled -}}
{{- $faults = append $faults "evaluation.enabled has its own Redis: do not set redis.enabled" -}}
{{- end -}}
{{- if ne (int $v.database.port) 5432 -}}
{{- $faults = append $faults "evaluation.enabled has its own database on port 5432: do not set database.port" -}}
{{- end -}}
{{- range $server := list "database" "redis" -}}
{{- if (index $v $server).tls.caSecret.name -}}
{{- $faults = append $faults (printf "evaluation.enabled has its own servers without TLS: leave %s.tls.caSecret.name empty" $server) -}}
{{- end -}}
{{- end -}}
{{- if and $v.platforms.chatApiUrl (not $v.secrets.existingSecret) -}}
{{- $faults = append $faults "secrets.existingSecret must name a Secret with the bot's token if platforms.chatApiUrl is a real chat platform" -}}
{{- end -}}
{{- if include "guild-data.simulated" $ -}}
{{- range $name, $url := $v.platforms -}}
{{- if and (hasPrefix "game" $name) (hasSuffix "Url" $name) $url -}}
{{- $faults = append $faults (printf "platforms.%s must be empty while the platforms are simulated, that is without platforms.chatApiUrl" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- if not $v.secrets.existingSecret -}}
{{- $faults = append $faults "secrets.existingSecret must name a Secret (its keys are in the chart's README); to try it out set evaluation.enabled=true" -}}
{{- end -}}
{{- if not $v.database.host -}}
{{- $faults = append $faults "database.host must name your PostgreSQL; to try it out set evaluation.enabled=true" -}}
{{- end -}}
{{- end -}}
{{- if and (or $v.ingress.enabled $v.httpRoute.enabled) (not $v.gateway.trustedProxies) -}}
{{- $faults = append $faults "gateway.trustedProxies must list the addresses of the proxy behind ingress or httpRoute: otherwise all clients share the proxy's address" -}}
{{- end -}}
{{- if le (int $v.stopSeconds) (int $v.drainDelaySeconds) -}}
{{- $faults = append $faults "stopSeconds must be more than drainDelaySeconds, for which a stopping pod still serves" -}}
{{- end -}}
{{- if and $v.ingress.tlsSecret (not $v.ingress.host) -}}
{{- $faults = append $faults "ingress.tlsSecret requires ingress.host, for which the certificate is issued" -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) -}}
{{- $faults = append $faults "httpRoute.parentRefs must name a Gateway" -}}
{{- end -}}
{{- if and (eq $v.tls.mode "secret") (not $v.tls.existingSecret) -}}
{{- $faults = append $faults "tls.existingSecret must name a Secret with tls.crt, tls.key and ca.crt" -}}
{{- end -}}
{{- if and (eq $v.tls.mode "certManager") (not $v.tls.issuerRef.name) -}}
{{- $faults = append $faults "tls.issuerRef.name must name an issuer of cert-manager" -}}
{{- end -}}
{{- range $name, $_ := $v.services -}}
{{- $s := include "guild-data.settings" (dict "root" $ "name" $name) | fromYaml -}}
{{- if gt (int $s.autoscaling.minReplicas) (int $s.autoscaling.maxReplicas) -}}
{{- $faults = append $faults (printf "autoscaling.minReplicas of %s is more than its maxReplicas" $name) -}}
{{- end -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n\n  %s\n" (join "\n  " $faults)) -}}
{{- end -}}
{{- end -}}
