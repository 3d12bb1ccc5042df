{{/* Names, addresses and certificates of this chart's two kinds of process. */}}

{{- define "fleet.coordinator" -}}{{ include "bigfleet.fullname" . }}-coordinator{{- end -}}
{{- define "fleet.shard" -}}{{ include "bigfleet.fullname" . }}-shard{{- end -}}
{{- define "fleet.sim" -}}{{ include "bigfleet.fullname" . }}-sim{{- end -}}

{{/* Refuses values that contradict each other, before anything is installed. */}}
{{- define "fleet.check" -}}
{{- $c := .Values.coordinator -}}
{{- if and $c.enabled (eq $c.store "etcd") (not $c.etcd.endpoints) -}}
{{- fail "coordinator.store is etcd, but coordinator.etcd.endpoints is empty: name host:port of its members" -}}
{{- end -}}
{{- if and (has .Values.tls.mode (list "certManager" "csi")) (not .Values.tls.issuer.name) -}}
{{- fail (printf "tls.mode is %s, but tls.issuer.name is empty: name the issuer that signs for the fleet" .Values.tls.mode) -}}
{{- end -}}
{{- if not (or .Values.shard.providers .Values.sim.enabled (include "fleet.fromRegistry" .)) -}}
{{- fail "no shard would have a provider: name one in shard.providers, or let them come from a coordinator's list" -}}
{{- end -}}
{{- if and $c.enabled $c.external -}}
{{- fail "coordinator.external names coordinators elsewhere, and coordinator.enabled runs one here: a fleet has one" -}}
{{- end -}}
{{- if and (gt (int .Values.shard.replicas) 1) (not (include "fleet.coordinated" .)) -}}
{{- fail "shard.replicas is above 1 without a coordinator: each shard would own every machine; set coordinator.enabled" -}}
{{- end -}}
{{- end -}}

{{/* "true" where there is a coordinator, here or elsewhere; else empty. */}}
{{- define "fleet.coordinated" -}}
{{- if or .Values.coordinator.enabled .Values.coordinator.external -}}true{{- end -}}
{{- end -}}

{{- define "fleet.fromRegistry" -}}
{{- if and (include "fleet.coordinated" .) .Values.shard.providersFromRegistry -}}true{{- end -}}
{{- end -}}

{{/* Addresses of all coordinators, one per line. */}}
{{- define "fleet.coordinatorAddresses" -}}
{{- $name := include "fleet.coordinator" . -}}
{{- if .Values.coordinator.external -}}
{{- toYaml .Values.coordinator.external -}}
{{- else if eq .Values.coordinator.store "etcd" -}}
{{- range $ordinal := until (int .Values.coordinator.replicas) }}
- {{ $name }}-{{ $ordinal }}.{{ $name }}-peers.{{ $.Release.Namespace }}.svc:7790
{{- end -}}
{{- else }}
- {{ $name }}.{{ .Release.Namespace }}.svc:7790
{{- end -}}
{{- end -}}

{{/* Name of a shard's secret. dict "root" $ "ordinal" 0 */}}
{{- define "fleet.shardSecret" -}}
{{- $id := printf "%s-%d" (include "fleet.shard" .root) (int .ordinal) -}}
{{- .root.Values.tls.shardSecret | replace "{id}" $id | replace "{ordinal}" (toString .ordinal) -}}
{{- end -}}

{{- define "fleet.coordinatorSecret" -}}
{{- .Values.tls.coordinatorSecret | default (printf "%s-tls" (include "fleet.coordinator" .)) -}}
{{- end -}}

{{- define "fleet.simSecret" -}}
{{- .Values.tls.simSecret | default (printf "%s-tls" (include "fleet.sim" .)) -}}
{{- end -}}

{{/* How many shards have a certificate mounted. */}}
{{- define "fleet.ordinals" -}}
{{- max (int .Values.shard.replicas) (int .Values.tls.ordinals) -}}
{{- end -}}

{{/* Names a process serves under. dict "root" $ "host" "bigfleet-shard-0" "peers" "bigfleet-shard" */}}
{{- define "fleet.hosts" -}}
{{- $namespace := .root.Release.Namespace -}}
- localhost
- {{ .host }}
- {{ .host }}.{{ $namespace }}
- {{ .host }}.{{ $namespace }}.svc
{{- if .peers }}
- {{ .host }}.{{ .peers }}
- {{ .host }}.{{ .peers }}.{{ $namespace }}.svc
{{- end }}
{{- range .root.Values.tls.hosts }}
- {{ . | replace "{id}" $.host }}
{{- end }}
{{- end -}}

{{/* All replicas serve under one certificate: it is not an identity, only a server's name. */}}
{{- define "fleet.coordinatorHosts" -}}
{{- $name := include "fleet.coordinator" . -}}
{{- include "fleet.hosts" (dict "root" . "host" $name "peers" "") -}}
{{- if eq .Values.coordinator.store "etcd" }}
- "*.{{ $name }}-peers.{{ .Release.Namespace }}.svc"
{{- end }}
{{- end -}}

{{/* dict "root" $ "secret" name "hosts" list "uri" "" */}}
{{- define "fleet.certificate" -}}
{{- $tls := .root.Values.tls -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .secret }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "bigfleet.labels" (dict "root" .root "component" "certificate") | nindent 4 }}
spec:
  secretName: {{ .secret }}
  duration: {{ $tls.duration }}
  renewBefore: {{ $tls.renewBefore }}
  issuerRef:
    name: {{ $tls.issuer.name }}
    kind: {{ $tls.issuer.kind }}
    group: {{ $tls.issuer.group }}
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  usages: [digital signature, server auth, client auth]
  dnsNames: {{- .hosts | nindent 4 }}
  {{- with .uri }}
  uris: [{{ . | quote }}]
  {{- end }}
{{- end -}}

{{/* A volume with one certificate. dict "root" $ "secret" name "hosts" list "uri" "" */}}
{{- define "fleet.certificateVolume" -}}
- name: tls
{{- if eq .root.Values.tls.mode "csi" }}
  csi:
    driver: csi.cert-manager.io
    readOnly: true
    volumeAttributes:
      csi.cert-manager.io/issuer-name: {{ .root.Values.tls.issuer.name }}
      csi.cert-manager.io/issuer-kind: {{ .root.Values.tls.issuer.kind }}
      csi.cert-manager.io/issuer-group: {{ .root.Values.tls.issuer.group }}
      csi.cert-manager.io/dns-names: {{ .hosts | fromYamlArray | join "," | quote }}
      {{- with .uri }}
      csi.cert-manager.io/uri-sans: {{ . | quote }}
      {{- end }}
      csi.cert-manager.io/key-usages: digital signature,server auth,client auth
      csi.cert-manager.io/duration: {{ .root.Values.tls.duration }}
      csi.cert-manager.io/fs-group: "65532"
{{- else }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/*
Sizes as docs/charts.md explains them; the limit leaves room for the Lists and roll-ups that are
read while a cycle runs. No CPU limit: a throttled cycle is a late cycle.
*/}}
{{- define "fleet.shardResources" -}}
{{- if .Values.shard.resources -}}
{{- toYaml .Values.shard.resources -}}
{{- else -}}
{{- $of := get (dict "small" (list "1" "1Gi" "2Gi") "medium" (list "2" "2Gi" "4Gi") "large" (list "4" "4Gi" "8Gi")) .Values.shard.size -}}
requests: {cpu: {{ index $of 0 | quote }}, memory: {{ index $of 1 }}}
limits: {memory: {{ index $of 2 }}}
{{- end -}}
{{- end -}}
