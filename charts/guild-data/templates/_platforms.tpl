{{/* The proxy and the CA for calls to the platforms; the simulated platforms need neither. */}}
{{- define "guild-data.platformAccess" -}}
{{- with .Values.platforms -}}
{{- if .proxySecret.name }}
{{ include "guild-data.fromSecret" (dict "name" "PLATFORMS_PROXY" "secret" .proxySecret.name "key" .proxySecret.key) }}
{{- end }}
{{- include "guild-data.caVariable" (dict "variable" "PLATFORMS_CA_FILE" "name" "platforms-ca" "values" .) }}
{{- end -}}
{{- end -}}

{{/* The address of the chat platform's API; empty for the public one. */}}
{{- define "guild-data.chatApiUrl" -}}
{{- eq (include "guild-data.simulated" .) "true" | ternary (printf "http://%s-simulators:8082/api/v10" (include "guild-data.fullname" .)) .Values.platforms.chatApiUrl -}}
{{- end -}}

{{/* The address of an API of the game platform; takes (dict "root" $ "url" URL); empty for the public one. */}}
{{- define "guild-data.gameUrl" -}}
{{- eq (include "guild-data.simulated" .root) "true" | ternary (printf "http://%s-simulators:8083" (include "guild-data.fullname" .root)) .url -}}
{{- end -}}

{{/* The key of the game platform's API, and the minimum number of processes that share the quotas of a platform: those that hold
     "platforms" or those that hold "game"; takes (dict "root" $ "holds" NAME). Processes read this number from CHAT_PROCESSES,
     also for the game platform. */}}
{{- define "guild-data.platformQuota" -}}
{{- $holds := .holds -}}
{{- with .root -}}
{{ include "guild-data.fromSecret" (dict "name" "GAME_API_KEY" "secret" (include "guild-data.secret" .) "key" .Values.secrets.keys.gameApiKey "optional" true) }}
{{- $callers := list -}}
{{- range $name, $service := (include "guild-data.facts" . | fromJson).services -}}
{{- if has $holds $service.holds }}{{ $callers = append $callers $name }}{{ end -}}
{{- end }}
- name: CHAT_PROCESSES
  value: {{ include "guild-data.replicas" (dict "root" . "names" $callers) | quote }}
{{- end -}}
{{- end -}}

{{/* Addresses and credentials of the chat and game platforms. */}}
{{- define "guild-data.platforms" -}}
{{ include "guild-data.fromSecret" (dict "name" "CHAT_BOT_TOKEN" "secret" (include "guild-data.secret" .) "key" .Values.secrets.keys.chatBotToken) }}
{{ include "guild-data.platformQuota" (dict "root" . "holds" "platforms") }}
{{- with .Values.platforms }}
{{- with include "guild-data.chatApiUrl" $ }}
- name: CHAT_API_URL
  value: {{ . | quote }}
{{- end }}
{{- with .chatBotUrl }}
- name: CHAT_BOT_URL
  value: {{ . | quote }}
{{- end }}
- name: CHAT_GLOBAL_RPS
  value: {{ int .chatGlobalRps | quote }}
- name: GAME_GLOBAL_RPS
  value: {{ int .gameGlobalRps | quote }}
- name: GAME_MEMBERSHIPS_PER_MINUTE
  value: {{ int .gameMembershipsPerMinute | quote }}
- name: GAME_INVENTORIES_PER_MINUTE
  value: {{ int .gameInventoriesPerMinute | quote }}
{{- $game := dict "USERS" .gameUsersUrl "GROUPS" .gameGroupsUrl "INVENTORY" .gameInventoryUrl "BADGES" .gameBadgesUrl "ECONOMY" .gameEconomyUrl "APIS" .gameApisUrl }}
{{- range $host, $url := $game }}
{{- with include "guild-data.gameUrl" (dict "root" $ "url" $url) }}
- name: GAME_{{ $host }}_URL
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The address and the key of the game platform's API with keys. */}}
{{- define "guild-data.openCloud" -}}
{{ include "guild-data.platformQuota" (dict "root" . "holds" "game") }}
{{- with include "guild-data.gameUrl" (dict "root" . "url" .Values.platforms.gameApisUrl) }}
- name: GAME_APIS_URL
  value: {{ . | quote }}
{{- end }}
{{- end -}}
