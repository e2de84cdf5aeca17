{{/* The origin of the console in browsers. In evaluation mode it is by default that of kubectl port-forward. */}}
{{- define "guild-data.consoleUrl" -}}
{{- .Values.console.publicUrl | default (.Values.evaluation.enabled | ternary "http://127.0.0.1:8090" "") -}}
{{- end -}}

{{/* The providers with which persons sign in, as JSON: oauth and oidc with the fields of console.oauth and console.oidc. Those
     that the simulators replace have `simulated`. */}}
{{- define "guild-data.providers" -}}
{{- $oauth := .Values.console.oauth -}}
{{- $oidc := .Values.console.oidc -}}
{{- if include "guild-data.simulated" . -}}
{{- $secret := include "guild-data.evaluationSecret" . -}}
{{- $oauth = dict "simulated" true "clientId" "940000000000000001" "clientSecret" (dict "name" $secret "key" "chat-oauth-secret") "authorizeUrl" "http://127.0.0.1:8082/oauth2/authorize" -}}
{{- if not $oidc.issuer -}}
{{- $issuer := printf "http://%s-simulators:8085" (include "guild-data.fullname" .) -}}
{{- $simulated := dict "simulated" true "issuer" $issuer "clientId" "guild-data" "clientSecret" (dict "name" $secret "key" "oidc-secret") -}}
{{- $oidc = mergeOverwrite (deepCopy $oidc) $simulated (dict "label" ($oidc.label | default "Simulated OpenID provider")) -}}
{{- end -}}
{{- end -}}
{{- dict "oauth" $oauth "oidc" $oidc | toJson -}}
{{- end -}}

{{/* The variables of auth for persons who sign in to the console. */}}
{{- define "guild-data.signIn" -}}
{{- $providers := include "guild-data.providers" . | fromJson -}}
- name: CONSOLE_ANY_GUILD
  value: {{ .Values.console.anyGuild | quote }}
{{- with $providers.oauth }}
{{- if .clientId }}
- name: CHAT_OAUTH_CLIENT_ID
  value: {{ .clientId | quote }}
{{ include "guild-data.fromSecret" (dict "name" "CHAT_OAUTH_CLIENT_SECRET" "secret" .clientSecret.name "key" .clientSecret.key) }}
{{- end }}
{{- with .authorizeUrl }}
- name: CHAT_OAUTH_AUTHORIZE_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $providers.oidc }}
{{- if .issuer }}
- name: OIDC_ISSUER
  value: {{ .issuer | quote }}
- name: OIDC_CLIENT_ID
  value: {{ .clientId | quote }}
{{ include "guild-data.fromSecret" (dict "name" "OIDC_CLIENT_SECRET" "secret" .clientSecret.name "key" .clientSecret.key) }}
{{- end }}
{{- with .label }}
- name: OIDC_LABEL
  value: {{ . | quote }}
{{- end }}
{{- with .operatorClaim }}
- name: OIDC_OPERATOR_CLAIM
  value: {{ . | quote }}
{{- end }}
{{- with .operatorValue }}
- name: OIDC_OPERATOR_VALUE
  value: {{ . | quote }}
{{- end }}
{{- if .throughProxy }}
- name: OIDC_THROUGH_PROXY
  value: "true"
{{- end }}
{{- include "guild-data.caVariable" (dict "variable" "NODE_EXTRA_CA_CERTS" "name" "oidc-ca" "values" .) }}
{{- end }}
{{- end -}}

{{/* The peers of auth for persons who sign in: the providers that are configured, and no others. The chat platform is a peer of
     auth for responses to slash commands too. */}}
{{- define "guild-data.toProviders" -}}
{{- $providers := include "guild-data.providers" . | fromJson -}}
{{- $policy := .Values.networkPolicy -}}
{{- $simulators := list -}}
{{- with $providers.oauth -}}
{{- if .simulated -}}
{{- $simulators = append $simulators 8082 -}}
{{- else if or .clientId $.Values.platforms.chatApplicationPublicKey -}}
{{ include "guild-data.toOutside" (dict "root" $ "to" $policy.platforms.to "ports" $policy.platforms.ports) }}
{{- end -}}
{{- end -}}
{{- with $providers.oidc -}}
{{- if .simulated -}}
{{- $simulators = append $simulators 8085 -}}
{{- else if .issuer }}
{{ include "guild-data.toOutside" (dict "root" $ "to" $policy.oidc.to "ports" $policy.oidc.ports) | trim }}
{{- end -}}
{{- end -}}
{{- with $simulators }}
{{ include "guild-data.toOutside" (dict "root" $ "own" "simulators" "ports" .) | trim }}
{{- end -}}
{{- end -}}

{{/* The hosts, with ports other than 443, at which clients reach a process; takes (dict "values" VALUES "publicUrl" URL), of which the
     values have ingress, httpRoute and route. */}}
{{- define "guild-data.hosts" -}}
{{- $hosts := list (get (urlParse .publicUrl) "host" | trimSuffix ":443") -}}
{{- with .values -}}
{{- if .ingress.enabled -}}
{{- $hosts = append $hosts .ingress.host -}}
{{- range .ingress.extraHosts }}{{ $hosts = append $hosts .host }}{{ end -}}
{{- end -}}
{{- if .httpRoute.enabled }}{{ $hosts = concat $hosts .httpRoute.hostnames }}{{ end -}}
{{- if .route.enabled }}{{ $hosts = append $hosts .route.host }}{{ end -}}
{{- end -}}
{{- without $hosts "" | uniq | toJson -}}
{{- end -}}

{{/* The faults of the console's values that the schema cannot express. */}}
{{- define "guild-data.consoleFaults" -}}
{{- $v := .Values -}}
{{- $faults := list -}}
{{- $url := include "guild-data.consoleUrl" . -}}
{{- $isLocal := regexMatch "^http://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?$" $url -}}
{{- if not $url -}}
{{- $faults = append $faults "console.publicUrl must be the address of the console in browsers, such as https://console.example" -}}
{{- else if not (or (hasPrefix "https://" $url) (and $v.evaluation.enabled $isLocal)) -}}
{{- $faults = append $faults "console.publicUrl must begin with https://; in evaluation mode it may also be http://127.0.0.1 or http://localhost with a port" -}}
{{- end -}}
{{- if not (regexMatch "^(https?://[^/]+/*)?$" $v.gateway.publicUrl) -}}
{{- $faults = append $faults "gateway.publicUrl must have no path with console.enabled, because the console shows it to persons as the address of the API" -}}
{{- end -}}
{{- $hosts := include "guild-data.hosts" (dict "values" $v "publicUrl" $v.gateway.publicUrl) | fromJsonArray -}}
{{- range include "guild-data.hosts" (dict "values" $v.console "publicUrl" $url) | fromJsonArray -}}
{{- if has . $hosts -}}
{{- $faults = append $faults (printf "the console has the host %s of the gateway: it needs a host of its own" .) -}}
{{- end -}}
{{- end -}}
{{- with $v.console.oauth -}}
{{- if and (include "guild-data.simulated" $) (or .clientId .clientSecret.name .authorizeUrl) -}}
{{- $faults = append $faults "console.oauth must be empty while the chat platform is simulated, that is without platforms.chatApiUrl" -}}
{{- else if ne (empty .clientId) (empty .clientSecret.name) -}}
{{- $faults = append $faults "console.oauth needs both clientId and clientSecret.name, or neither" -}}
{{- end -}}
{{- end -}}
{{- with $v.console.oidc -}}
{{- $given := without (list .issuer .clientId .clientSecret.name) "" -}}
{{- if and $given (ne (len $given) 3) -}}
{{- $faults = append $faults "console.oidc needs issuer, clientId and clientSecret.name, or none of them" -}}
{{- end -}}
{{- if and .throughProxy (not $v.platforms.proxySecret.name) -}}
{{- $faults = append $faults "console.oidc.throughProxy needs the proxy of platforms.proxySecret" -}}
{{- end -}}
{{- end -}}
{{- $faults | toJson -}}
{{- end -}}
