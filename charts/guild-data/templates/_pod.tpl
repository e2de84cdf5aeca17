{{/* Values laid over others; takes (dict "base" VALUES "own" VALUES). Resources, autoscaling, variables, labels and annotations
     are merged by name, and null removes what the base has. Any other value replaces that of the base as a whole, also if it is
     empty. */}}
{{- define "guild-data.override" -}}
{{- $result := deepCopy .base -}}
{{- $merged := list "resources" "autoscaling" "config" "podLabels" "podAnnotations" "deploymentLabels" "deploymentAnnotations" -}}
{{- range $name, $value := .own -}}
{{- if has $name $merged -}}
{{- $_ := set $result $name (mergeOverwrite (index $result $name | default dict) (deepCopy ($value | default dict))) -}}
{{- else -}}
{{- $_ := set $result $name $value -}}
{{- end -}}
{{- end -}}
{{- include "guild-data.removeNulls" $result.resources -}}
{{- $result | toYaml -}}
{{- end -}}

{{/* Removes what is null from an object and from those in it. */}}
{{- define "guild-data.removeNulls" -}}
{{- $object := . -}}
{{- range $name, $value := $object -}}
{{- if kindIs "invalid" $value }}{{ $_ := unset $object $name }}{{ else if kindIs "map" $value }}{{ include "guild-data.removeNulls" $value }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Takes (dict "root" $ "name" NAME): the values of one service, laid over the defaults. */}}
{{- define "guild-data.settings" -}}
{{- include "guild-data.override" (dict "base" .root.Values.defaults "own" (index .root.Values.services .name)) -}}
{{- end -}}

{{/* Takes (dict "root" $ "own" VALUES): the values of a pod that is no service, laid over those defaults that say where pods
     run. */}}
{{- define "guild-data.otherSettings" -}}
{{- $base := pick .root.Values.defaults "nodeSelector" "tolerations" "affinity" "priorityClassName" "topologySpreadConstraints" -}}
{{- include "guild-data.override" (dict "base" $base "own" .own) -}}
{{- end -}}

{{/* Metadata and spec of a pod: every pod of the chart is made here. Takes (dict "root" $ "component" NAME "settings" SETTINGS
     "user" ID "annotations" DICT "pod" YAML), of which `pod` is the spec with the containers and volumes of the chart. With
     "restarts" true the pods restart after a change of their Secrets. */}}
{{- define "guild-data.podTemplate" -}}
{{- $values := .root.Values -}}
{{- $own := .pod | fromYaml -}}
{{- with $own.Error -}}{{- fail . -}}{{- end -}}
{{- $variables := index (include "guild-data.facts" .root | fromJson).variables .component | default list -}}
{{- $security := include "guild-data.podSecurity" .user | fromYaml -}}
{{- $extended := include "guild-data.extended" (dict "settings" .settings "spec" $own "variables" $variables) | fromYaml -}}
{{- $spec := merge $extended (include "guild-data.scheduling" . | fromYaml) $security (include "guild-data.pod" .root | fromYaml) $own -}}
{{- $annotations := mergeOverwrite dict (.annotations | default dict) $values.podAnnotations (.settings.podAnnotations | default dict) -}}
{{- if and .restarts $values.restartOnSecretChange -}}
{{- with include "guild-data.checksum" (dict "root" .root "spec" $spec) -}}
{{- $_ := set $annotations "guild-data/checksum" . -}}
{{- end -}}
{{- end -}}
{{- $labels := include "guild-data.selector" . | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" "guild-data" -}}
metadata:
  # Without versions, so that a new version of the chart alone restarts nothing.
  labels:
    {{- mergeOverwrite $labels $values.commonLabels $values.podLabels (.settings.podLabels | default dict) | toYaml | nindent 4 }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- toYaml $spec | nindent 2 }}
{{- end -}}

{{/* Fields of every pod's spec. */}}
{{- define "guild-data.pod" -}}
serviceAccountName: {{ include "guild-data.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- $secrets := list -}}
{{- range concat ((.Values.global).imagePullSecrets | default list) .Values.imagePullSecrets -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- with $secrets }}
imagePullSecrets:
  {{- uniq . | toYaml | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where a pod runs; takes (dict "root" $ "component" NAME "settings" SETTINGS). */}}
{{- define "guild-data.scheduling" -}}
{{- $settings := .settings -}}
{{- $own := dict "labelSelector" (dict "matchLabels" (include "guild-data.selector" . | fromYaml)) -}}
{{- $fields := pick $settings "nodeSelector" "tolerations" "affinity" "priorityClassName" "readinessGates" -}}
{{- $spread := list -}}
{{- range $settings.topologySpreadConstraints -}}
{{- $spread = append $spread (hasKey . "labelSelector" | ternary . (merge (deepCopy .) $own)) -}}
{{- end -}}
{{- if and $settings.spread (not $spread) -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" -}}
{{- $rule := dict "topologyKey" . "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash") -}}
{{- $spread = append $spread (merge $rule $own) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $fields "topologySpreadConstraints" $spread -}}
{{- range $name, $value := $fields -}}
{{- if not $value }}{{ $_ := unset $fields $name }}{{ end -}}
{{- end -}}
{{- toYaml $fields -}}
{{- end -}}

{{/* Containers and volumes of a pod with those that values add; takes (dict "settings" SETTINGS "spec" SPEC "variables" NAMES). Init containers
     of values come first, because a proxy to the database must run before the container that waits for the schema. */}}
{{- define "guild-data.extended" -}}
{{- $settings := .settings -}}
{{- $lists := dict "initContainers" list "containers" list -}}
{{- range $kind, $_ := $lists -}}
{{- range index $.spec $kind -}}
{{- $container := include "guild-data.extendedContainer" (dict "container" . "settings" $settings "variables" $.variables) | fromYaml -}}
{{- $_ := set $lists $kind (append (index $lists $kind) $container) -}}
{{- end -}}
{{- end -}}
{{- $init := concat ($settings.initContainers | default list) $lists.initContainers -}}
{{- $containers := concat $lists.containers ($settings.sidecars | default list) -}}
{{- $volumes := concat (.spec.volumes | default list) ($settings.extraVolumes | default list) -}}
{{- include "guild-data.rejectTwice" (dict "what" "containers (initContainers and sidecars are added to those of the chart)" "of" (concat $init $containers)) -}}
{{- include "guild-data.rejectTwice" (dict "what" "volumes (extraVolumes are added to those of the chart)" "of" $volumes) -}}
{{- include "guild-data.rejectTwice" (dict "what" "variables in extraEnv" "of" ($settings.extraEnv | default list)) -}}
{{- $known := list -}}
{{- range $volumes }}{{ $known = append $known .name }}{{ end -}}
{{- range $settings.extraVolumeMounts -}}
{{- if not (has .name $known) -}}
{{- fail (printf "\n\n  extraVolumeMounts names the volume %s, which is not in extraVolumes\n" .name) -}}
{{- end -}}
{{- end -}}
containers:
  {{- toYaml $containers | nindent 2 }}
{{- with $init }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $volumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Fails if two objects have one name; takes (dict "what" TEXT "of" OBJECTS). */}}
{{- define "guild-data.rejectTwice" -}}
{{- $names := list -}}
{{- range .of -}}
{{- if has .name $names -}}
{{- fail (printf "\n\n  two %s of one pod have the name %s\n" $.what .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end -}}

{{/* One container of the chart with the variables and mounts that values add; takes (dict "container" CONTAINER "settings"
     SETTINGS "variables" NAMES), of which the names are those that the process reads, whether or not the chart sets them now. */}}
{{- define "guild-data.extendedContainer" -}}
{{- $container := .container -}}
{{- $variables := .variables -}}
{{- range $container.env }}{{ $variables = append $variables .name }}{{ end -}}
{{- range .settings.extraEnv -}}
{{- if has .name $variables -}}
{{- fail (printf "\n\n  extraEnv must not contain %s, which belongs to the chart's container %s: use config, or the value for it, if there is one\n" .name $container.name) -}}
{{- end -}}
{{- end -}}
{{- range $field, $value := dict "env" "extraEnv" "envFrom" "envFrom" "volumeMounts" "extraVolumeMounts" -}}
{{- with concat (index $container $field | default list) (index $.settings $value | default list) -}}
{{- $_ := set $container $field . -}}
{{- end -}}
{{- end -}}
{{- $paths := list -}}
{{- range $container.volumeMounts -}}
{{- if has .mountPath $paths -}}
{{- fail (printf "\n\n  extraVolumeMounts: the container %s has two volumes at %s\n" $container.name .mountPath) -}}
{{- end -}}
{{- $paths = append $paths .mountPath -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}

{{/* A checksum of what a pod reads from Secrets and ConfigMaps of the cluster; takes (dict "root" $ "spec" SPEC). Empty outside a
     cluster, as in `helm template`. */}}
{{- define "guild-data.checksum" -}}
{{- $root := .root -}}
{{- $contents := dict -}}
{{- range $reference := include "guild-data.references" . | fromYamlArray -}}
{{- $found := lookup "v1" .kind $root.Release.Namespace .name -}}
{{- range $key, $value := merge dict ($found.data | default dict) ($found.binaryData | default dict) -}}
{{- if has $reference.key (list "" $key) -}}
{{- $_ := set $contents (printf "%s/%s/%s" $reference.kind $reference.name $key) $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $contents }}{{ toJson . | sha256sum }}{{ end -}}
{{- end -}}

{{/* The Secrets and ConfigMaps that a pod reads, as a list of {kind, name, key}, of which an empty key stands for all. Left out are
     the Secrets of evaluation mode, whose contents Helm keeps, and the certificates of TLS between the services, which processes
     read again when they change. Takes (dict "root" $ "spec" SPEC). */}}
{{- define "guild-data.references" -}}
{{- $all := list -}}
{{- range concat .spec.containers (.spec.initContainers | default list) -}}
{{- range .env -}}
{{- with (.valueFrom).secretKeyRef }}{{ $all = append $all (dict "kind" "Secret" "name" .name "key" .key) }}{{ end -}}
{{- with (.valueFrom).configMapKeyRef }}{{ $all = append $all (dict "kind" "ConfigMap" "name" .name "key" .key) }}{{ end -}}
{{- end -}}
{{- range .envFrom -}}
{{- with .secretRef }}{{ $all = append $all (dict "kind" "Secret" "name" .name "key" "") }}{{ end -}}
{{- with .configMapRef }}{{ $all = append $all (dict "kind" "ConfigMap" "name" .name "key" "") }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range .spec.volumes -}}
{{- if ne .name "tls" -}}
{{- range (.projected).sources | default (list .) -}}
{{- range $kind, $source := dict "Secret" .secret "ConfigMap" .configMap -}}
{{- with $source -}}
{{- $name := .secretName | default .name -}}
{{- range .items | default (list (dict "key" "")) -}}
{{- $all = append $all (dict "kind" $kind "name" $name "key" .key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $read := list -}}
{{- $generated := printf "^%s-(evaluation|keys-.*)$" (include "guild-data.fullname" .root) -}}
{{- range uniq $all -}}
{{- if not (and $.root.Values.evaluation.enabled (regexMatch $generated .name)) }}{{ $read = append $read . }}{{ end -}}
{{- end -}}
{{- toYaml $read -}}
{{- end -}}
