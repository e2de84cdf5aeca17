{{/* Checks that the schema cannot express: combinations of values that do not work. */}}
{{- define "guild-data.checks" -}}
{{- $v := .Values -}}
{{- $faults := list -}}
{{- if $v.evaluation.enabled -}}
{{- if or $v.database.host $v.database.hosts $v.database.direct.host $v.database.existingSecret $v.database.addressSecret.name $v.database.credentials -}}
{{- $faults = append $faults "evaluation.enabled has its own database: leave database.host, database.hosts, database.direct.host, database.existingSecret, database.addressSecret.name and database.credentials empty" -}}
{{- end -}}
{{- if $v.redis.existingSecret -}}
{{- $faults = append $faults "evaluation.enabled has its own Redis: leave redis.existingSecret empty" -}}
{{- end -}}
{{- if not $v.redis.enabled -}}
{{- $faults = append $faults "evaluation.enabled has its own Redis: do not set redis.enabled" -}}
{{- end -}}
{{- if ne (int $v.database.port) 5432 -}}
{{- $faults = append $faults "evaluation.enabled has its own database on port 5432: do not set database.port" -}}
{{- end -}}
{{- range $server := list "database" "redis" -}}
{{- range $ca := list "caSecret" "caConfigMap" -}}
{{- if (index (index $v $server).tls $ca).name -}}
{{- $faults = append $faults (printf "evaluation.enabled has its own servers without TLS: leave %s.tls.%s.name empty" $server $ca) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $keys := list $v.secrets.keys.chatBotToken $v.secrets.keys.gameApiKey $v.secrets.keys.redisUrl "redis-password" "owner-password" "chat-oauth-secret" "oidc-secret" -}}
{{- range $name, $_ := $v.services }}{{ $keys = append $keys (print $name "-password") }}{{ end -}}
{{- if ne (uniq $keys | len) (len $keys) -}}
{{- $faults = append $faults "secrets.keys must name different keys, and none that evaluation.enabled uses for a password" -}}
{{- end -}}
{{- if and $v.platforms.chatApiUrl (not $v.secrets.existingSecret) -}}
{{- $faults = append $faults "secrets.existingSecret must name a Secret with the bot's token if platforms.chatApiUrl is a real chat platform" -}}
{{- end -}}
{{- if include "guild-data.simulated" $ -}}
{{- if or $v.platforms.proxySecret.name $v.platforms.caSecret.name $v.platforms.caConfigMap.name -}}
{{- $faults = append $faults "platforms.proxySecret, platforms.caSecret and platforms.caConfigMap must be empty while the platforms are simulated, that is without platforms.chatApiUrl" -}}
{{- end -}}
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
{{- if not (or $v.database.host $v.database.hosts $v.database.addressSecret.name) -}}
{{- $faults = append $faults "database.host must name your PostgreSQL, or database.addressSecret.name a Secret with its address; to try it out set evaluation.enabled=true" -}}
{{- end -}}
{{- if and $v.database.hosts (or $v.database.host $v.database.addressSecret.name) -}}
{{- $faults = append $faults "database.hosts is instead of database.host and database.addressSecret.name: leave both empty" -}}
{{- end -}}
{{- range include "guild-data.databaseHosts" $v.database | fromJsonArray -}}
{{- $port := regexFind "[0-9]+$" . | int -}}
{{- if or (lt $port 1) (gt $port 65535) -}}
{{- $faults = append $faults (printf "database.hosts: %s has no port from 1 to 65535" .) -}}
{{- end -}}
{{- end -}}
{{- if ne (include "guild-data.databaseHosts" $v.database | fromJsonArray | uniq | len) (len $v.database.hosts) -}}
{{- $faults = append $faults "database.hosts must not name a server twice" -}}
{{- end -}}
{{- if and $v.database.host $v.database.addressSecret.name -}}
{{- $faults = append $faults "database.host must be empty with database.addressSecret.name, which has the host" -}}
{{- end -}}
{{- end -}}
{{- $users := list -}}
{{- range $name, $service := (include "guild-data.facts" $ | fromJson).services -}}
{{- if has "database" $service.holds -}}
{{- $users = append $users (include "guild-data.credentials" (dict "root" $ "role" $name) | fromJson).user -}}
{{- end -}}
{{- end -}}
{{- if has $v.database.owner $users -}}
{{- $faults = append $faults (printf "database.owner %s is also the role of a service: migrations would change its password and its rights" $v.database.owner) -}}
{{- end -}}
{{- $minStop := add $v.drainDelaySeconds (include "guild-data.facts" $ | fromJson).minSecondsAfterDrainDelay -}}
{{- if lt (int $v.stopSeconds) (int $minStop) -}}
{{- $faults = append $faults (printf "stopSeconds must be at least %d with drainDelaySeconds %d: a stopping pod still serves for drainDelaySeconds, and then completes the requests in flight" $minStop (int $v.drainDelaySeconds)) -}}
{{- end -}}
{{- range $name, $values := dict "database.tls" $v.database.tls "redis.tls" $v.redis.tls "platforms" $v.platforms "webhooks" $v.webhooks "tracing" $v.tracing "console.oidc" $v.console.oidc -}}
{{- if and $values.caSecret.name $values.caConfigMap.name -}}
{{- $faults = append $faults (printf "%s.caSecret and %s.caConfigMap: set only one of them" $name $name) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $v.database.tls.mode "disable") (or $v.database.tls.caSecret.name $v.database.tls.caConfigMap.name) -}}
{{- $faults = append $faults "database.tls.caSecret and database.tls.caConfigMap must be empty with database.tls.mode disable, which uses no TLS" -}}
{{- end -}}
{{- $faults = concat $faults (include "guild-data.routeFaults" (dict "name" "gateway" "prefix" "" "values" $v "process" $v.gateway) | fromJsonArray) -}}
{{- if $v.console.enabled -}}
{{- if and $v.console.service.nodePort (eq (int $v.console.service.nodePort) (int $v.gateway.service.nodePort)) -}}
{{- $faults = append $faults "console.service.nodePort must differ from gateway.service.nodePort" -}}
{{- end -}}
{{- $faults = concat $faults (include "guild-data.routeFaults" (dict "name" "console" "prefix" "console." "values" $v.console "process" $v.console) | fromJsonArray) -}}
{{- $faults = concat $faults (include "guild-data.consoleFaults" $ | fromJsonArray) -}}
{{- end -}}
{{- $faults = concat $faults (include "guild-data.podFaults" $ | fromJsonArray) -}}
{{- if $faults -}}
{{- fail (printf "\n\n  %s\n" (join "\n  " $faults)) -}}
{{- end -}}
{{- end -}}

{{/* The faults of the ways in which clients reach a process; takes (dict "name" NAME "prefix" TEXT "values" VALUES "process"
     VALUES): `values` has ingress, httpRoute and route, whose names begin with the prefix; `process` has service and
     trustedProxies. */}}
{{- define "guild-data.routeFaults" -}}
{{- $faults := list -}}
{{- $prefix := .prefix -}}
{{- $proxies := .process.trustedProxies -}}
{{- with .values -}}
{{- if and (or .ingress.enabled .httpRoute.enabled .route.enabled) (not $proxies) -}}
{{- $faults = append $faults (printf "%s.trustedProxies must list the addresses of the proxy behind %singress, %shttpRoute or %sroute: otherwise all clients share the proxy's address" $.name $prefix $prefix $prefix) -}}
{{- end -}}
{{- if and (or .ingress.tlsSecret .ingress.extraHosts) (not .ingress.host) -}}
{{- $faults = append $faults (printf "%singress.tlsSecret and %singress.extraHosts require %singress.host, for which the certificate is issued" $prefix $prefix $prefix) -}}
{{- end -}}
{{- $hosts := without (list .ingress.host) "" -}}
{{- range .ingress.extraHosts -}}
{{- if has .host $hosts -}}
{{- $faults = append $faults (printf "%singress has the host %s twice" $prefix .host) -}}
{{- end -}}
{{- $hosts = append $hosts .host -}}
{{- end -}}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) -}}
{{- $faults = append $faults (printf "%shttpRoute.parentRefs must name a Gateway" $prefix) -}}
{{- end -}}
{{- range .httpRoute.filters -}}
{{- if eq (.type | default "") "RequestRedirect" -}}
{{- $faults = append $faults (printf "%shttpRoute.filters must not contain a RequestRedirect, because the rule sends requests to the %s" $prefix $.name) -}}
{{- end -}}
{{- end -}}
{{- with .httpRoute.timeouts -}}
{{- if and .requestSeconds (gt (int .backendRequestSeconds) (int .requestSeconds)) -}}
{{- $faults = append $faults (printf "%shttpRoute.timeouts.backendRequestSeconds must not be more than requestSeconds, of which it is a part" $prefix) -}}
{{- end -}}
{{- end -}}
{{- $timeout := get .route.annotations "haproxy.router.openshift.io/timeout" -}}
{{- if and .route.enabled (regexMatch "^([0-9]+(ms|s|m|h))+$" $timeout) -}}
{{- if lt (include "guild-data.seconds" $timeout | float64) 30.0 -}}
{{- $faults = append $faults (printf "%sroute.annotations: a timeout of %s would end polls, which wait for up to 25 seconds: at least 30s" $prefix $timeout) -}}
{{- end -}}
{{- end -}}
{{- if and .route.tls.certificateSecret (not .route.tls.termination) -}}
{{- $faults = append $faults (printf "%sroute.tls.certificateSecret requires %sroute.tls.termination" $prefix $prefix) -}}
{{- end -}}
{{- end -}}
{{- with .process.service -}}
{{- if and (has .type (list "NodePort" "LoadBalancer")) (ne .externalTrafficPolicy "Local") (not $proxies) -}}
{{- $faults = append $faults (printf "%s.service.externalTrafficPolicy must be Local with the type %s: otherwise all clients share the address of a node, and its rate limits; with a proxy in front that sets X-Forwarded-For, list its addresses in %s.trustedProxies instead" $.name .type $.name) -}}
{{- end -}}
{{- if and .nodePort (eq .type "ClusterIP") -}}
{{- $faults = append $faults (printf "%s.service.nodePort requires the type NodePort or LoadBalancer" $.name) -}}
{{- end -}}
{{- if and .loadBalancerClass (ne .type "LoadBalancer") -}}
{{- $faults = append $faults (printf "%s.service.loadBalancerClass requires the type LoadBalancer" $.name) -}}
{{- end -}}
{{- if and .externalTrafficPolicy (eq .type "ClusterIP") -}}
{{- $faults = append $faults (printf "%s.service.externalTrafficPolicy requires the type NodePort or LoadBalancer" $.name) -}}
{{- end -}}
{{- end -}}
{{- $faults | toJson -}}
{{- end -}}
