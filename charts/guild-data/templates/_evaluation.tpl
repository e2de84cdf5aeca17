{{/* The single pods of evaluation mode. */}}
{{- define "guild-data.postgresqlPod" -}}
{{- $settings := .Values.evaluation.postgresql -}}
terminationGracePeriodSeconds: 30
containers:
  - name: postgresql
    image: {{ include "guild-data.imageOf" (dict "root" . "image" $settings.image) }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command:
      - sh
      - -euc
      - |
        if [ ! -s "$PGDATA/PG_VERSION" ]; then
          rm -rf "$PGDATA" /run/postgresql/password
          (umask 077; printf %s "$OWNER_PASSWORD" >/run/postgresql/password)
          initdb --username="$OWNER" --pwfile=/run/postgresql/password --auth=scram-sha-256 --encoding=UTF8 --locale=C -D "$PGDATA.new"
          rm /run/postgresql/password
          echo "host all all all scram-sha-256" >>"$PGDATA.new/pg_hba.conf"
          echo "CREATE DATABASE $DATABASE_NAME" | postgres --single -D "$PGDATA.new" postgres
          mv "$PGDATA.new" "$PGDATA"
        fi
        exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql -c max_connections={{ include "guild-data.evaluationConnections" . }}
    env:
      - {name: PGDATA, value: /var/lib/guild-data/pgdata}
      - {name: OWNER, value: {{ .Values.database.owner }}}
      - {name: DATABASE_NAME, value: {{ .Values.database.name }}}
      {{- include "guild-data.fromSecret" (dict "name" "OWNER_PASSWORD" "secret" (include "guild-data.evaluationSecret" .) "key" "owner-password") | nindent 6 }}
    ports:
      - {name: postgresql, containerPort: 5432}
    readinessProbe:
      tcpSocket: {port: postgresql}
      periodSeconds: 2
    resources:
      {{- toYaml $settings.resources | nindent 6 }}
    {{- include "guild-data.containerSecurity" . | nindent 4 }}
    volumeMounts:
      - {name: data, mountPath: /var/lib/guild-data}
      - {name: run, mountPath: /run/postgresql}
      - {name: memory, mountPath: /dev/shm}
      - {name: temporary, mountPath: /tmp}
volumes:
  - {name: run, emptyDir: {}}
  - {name: temporary, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 256Mi}}
  {{- if not $settings.storage.size }}
  - {name: data, emptyDir: {}}
  {{- end }}
{{- end -}}

{{- define "guild-data.redisPod" -}}
{{- $settings := .Values.evaluation.redis -}}
terminationGracePeriodSeconds: 10
containers:
  - name: redis
    image: {{ include "guild-data.imageOf" (dict "root" . "image" $settings.image) }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    # The password is passed on standard input, because arguments are visible in process lists.
    command:
      - sh
      - -euc
      - |
        exec redis-server - --save '' --appendonly no --dir /tmp --protected-mode no <<END
        requirepass $REDIS_PASSWORD
        END
    env:
      {{- include "guild-data.fromSecret" (dict "name" "REDIS_PASSWORD" "secret" (include "guild-data.evaluationSecret" .) "key" "redis-password") | nindent 6 }}
    ports:
      - {name: redis, containerPort: 6379}
    readinessProbe:
      tcpSocket: {port: redis}
      periodSeconds: 2
    resources:
      {{- toYaml $settings.resources | nindent 6 }}
    {{- include "guild-data.containerSecurity" . | nindent 4 }}
    volumeMounts:
      - {name: temporary, mountPath: /tmp}
volumes:
  - {name: temporary, emptyDir: {}}
{{- end -}}

{{- define "guild-data.simulatorsPod" -}}
containers:
  - name: simulators
    image: {{ include "guild-data.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    args: [simulators.js]
    env:
      - {name: SIMULATOR_HOST, value: 0.0.0.0}
      - {name: CHAT_SIMULATOR_PORT, value: "8082"}
      - {name: GAME_SIMULATOR_PORT, value: "8083"}
      {{- if .Values.console.enabled }}
      - {name: OIDC_SIMULATOR_PORT, value: "8085"}
      - {name: OIDC_SIMULATOR_ISSUER, value: "http://{{ include "guild-data.fullname" . }}-simulators:8085"}
      # Browsers reach it by kubectl port-forward.
      - {name: OIDC_SIMULATOR_BROWSER_URL, value: "http://127.0.0.1:8085"}
      {{- end }}
    ports:
      - {name: chat, containerPort: 8082}
      - {name: game, containerPort: 8083}
      {{- if .Values.console.enabled }}
      - {name: oidc, containerPort: 8085}
      {{- end }}
    readinessProbe:
      tcpSocket: {port: game}
      periodSeconds: 2
    resources:
      {{- toYaml .Values.evaluation.simulators.resources | nindent 6 }}
    {{- include "guild-data.containerSecurity" . | nindent 4 }}
{{- end -}}

{{/* A Service and a StatefulSet with one pod; takes (dict "root" $ "component" NAME "ports" PORTS "user" ID "own" VALUES "pod"
     YAML). Further fields of the StatefulSet may follow. */}}
{{- define "guild-data.evaluationServer" -}}
{{- $name := printf "%s-%s" (include "guild-data.fullname" .root) .component -}}
{{- $settings := include "guild-data.otherSettings" . | fromYaml -}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels:
    {{- include "guild-data.labels" . | nindent 4 }}
spec:
  ports:
    {{- range .ports }}
    - {name: port-{{ . }}, port: {{ . }}}
    {{- end }}
  selector:
    {{- include "guild-data.selector" . | nindent 4 }}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels:
    {{- include "guild-data.labels" . | nindent 4 }}
spec:
  serviceName: {{ $name }}
  replicas: 1
  selector:
    matchLabels:
      {{- include "guild-data.selector" . | nindent 6 }}
  template:
    {{- include "guild-data.podTemplate" (merge (dict "settings" $settings) .) | nindent 4 }}
{{- end -}}
