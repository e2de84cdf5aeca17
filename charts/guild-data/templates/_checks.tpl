{{/* What the schema can not say: values that do not go together. */}}
{{- define "guild-data.checks" -}}
{{- $v := .Values -}}
{{- $faults := list -}}
{{- if $v.evaluation.enabled -}}
{{- if or $v.database.host $v.database.direct.host $v.database.existingSecret -}}
{{- $faults = append $faults "evaluation.enabled brings a database of its own: leave database.host, database.direct.host and database.existingSecret empty" -}}
{{- end -}}
{{- if not $v.redis.enabled -}}
{{- $faults = append $faults "evaluation.enabled brings Redis: leave redis.enabled as it is" -}}
{{- end -}}
{{- if ne (int $v.database.port) 5432 -}}
{{- $faults = append $faults "evaluation.enabled brings a database of its own, at 5432: leave database.port as it is" -}}
{{- end -}}
{{- range $server := list "database" "redis" -}}
{{- if (index $v $server).tls.caSecret.name -}}
{{- $faults = append $faults (printf "evaluation.enabled brings servers of its own, without TLS: leave %s.tls.caSecret.name empty" $server) -}}
{{- end -}}
{{- end -}}
{{- if and $v.platforms.chatApiUrl (not $v.secrets.existingSecret) -}}
{{- $faults = append $faults "secrets.existingSecret must name a Secret with the bot's token where platforms.chatApiUrl is a real chat platform" -}}
{{- end -}}
{{- if include "guild-data.simulated" $ -}}
{{- range $name, $url := $v.platforms -}}
{{- if and (hasPrefix "game" $name) (hasSuffix "Url" $name) $url -}}
{{- $faults = append $faults (printf "platforms.%s must be empty where the platforms are simulated, which they are without platforms.chatApiUrl" $name) -}}
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
{{- $faults = append $faults "gateway.trustedProxies must hold the addresses of the proxy that ingress or httpRoute stands for: without it all callers share the proxy's address" -}}
{{- end -}}
{{- if le (int $v.stopSeconds) (int $v.drainDelaySeconds) -}}
{{- $faults = append $faults "stopSeconds must be more than drainDelaySeconds: that long a pod only waits to be left alone" -}}
{{- end -}}
{{- if and $v.ingress.tlsSecret (not $v.ingress.host) -}}
{{- $faults = append $faults "ingress.host must be given with ingress.tlsSecret: it is whom the certificate is made out to" -}}
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
